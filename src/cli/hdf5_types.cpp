#include "cli/hdf5_types.h"

#include <cstring>

namespace tundish::cli {
namespace {

struct FloatFormat {
  ArrayElement element;
  std::size_t bytes, exponent_bits, mantissa_bits, bias;
};

constexpr FloatFormat kFloats[] = {{ArrayElement::float16, 2, 5, 10, 15},
                                   {ArrayElement::bfloat16, 2, 8, 7, 127},
                                   {ArrayElement::float32, 4, 8, 23, 127},
                                   {ArrayElement::float64, 8, 11, 52, 1023}};

bool has_plain_order(hid_t type) {
  const H5T_order_t order = H5Tget_order(type);
  return H5Tget_size(type) == 1 || order == H5T_ORDER_LE || order == H5T_ORDER_BE;
}

Hdf5Element float_of(hid_t type) {
  std::size_t sign, exponent, exponent_bits, mantissa, mantissa_bits;
  const std::size_t bytes = H5Tget_size(type);
  const bool whole =
      H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits) >= 0 &&
      H5Tget_precision(type) == 8 * bytes && H5Tget_offset(type) == 0 &&
      H5Tget_norm(type) == H5T_NORM_IMPLIED && has_plain_order(type);
  for (const FloatFormat& known : kFloats) {
    if (whole && bytes == known.bytes && exponent_bits == known.exponent_bits &&
        mantissa_bits == known.mantissa_bits && H5Tget_ebias(type) == known.bias &&
        sign == 8 * bytes - 1 && exponent == mantissa_bits && mantissa == 0) {
      return {.element = known.element};
    }
  }
  return {.reason = "its floats are not IEEE 754 of 2, 4 or 8 bytes: write it as float32"};
}

Hdf5Element integer_of(hid_t type) {
  const std::size_t bytes = H5Tget_size(type);
  const bool is_signed = H5Tget_sign(type) == H5T_SGN_2;
  if (H5Tget_precision(type) == 8 * bytes && has_plain_order(type)) {
    switch (bytes) {
      case 1:
        return {.element = is_signed ? ArrayElement::int8 : ArrayElement::uint8};
      case 2:
        return {.element = is_signed ? ArrayElement::int16 : ArrayElement::uint16};
      case 4:
        return {.element = is_signed ? ArrayElement::int32 : ArrayElement::uint32};
      case 8:
        return {.element = is_signed ? ArrayElement::int64 : ArrayElement::uint64};
      default:
        break;
    }
  }
  return {.reason = "its integers have unused bits or another size than 1, 2, 4 or 8 bytes"};
}

// Recognizes h5py's encoding of bool.
bool is_bool(hid_t type) {
  if (H5Tget_size(type) != 1 || H5Tget_nmembers(type) != 2) return false;
  bool right = true;
  for (unsigned m = 0; m < 2; ++m) {
    char* name = H5Tget_member_name(type, m);
    unsigned char value = 255;
    const bool known = name && H5Tget_member_value(type, m, &value) >= 0 && value < 2;
    right = right && known && std::strcmp(name, value == 0 ? "FALSE" : "TRUE") == 0;
    H5free_memory(name);
  }
  return right;
}

}  // namespace

Hdf5Element element_of(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return integer_of(type);
    case H5T_FLOAT:
      return float_of(type);
    case H5T_ENUM: {
      if (is_bool(type)) return {.element = ArrayElement::boolean};
      const hid_t base = H5Tget_super(type);
      if (base < 0) return {};
      const Hdf5Element out = integer_of(base);
      H5Tclose(base);
      return out;
    }
    case H5T_STRING:
      return {.reason = "it holds texts"};
    case H5T_COMPOUND:
      return {.reason = "its elements are compounds: write a dataset for each part"};
    case H5T_REFERENCE:
      return {.reason = "it holds references"};
    case H5T_VLEN:
      return {.reason = "its elements have different lengths"};
    case H5T_ARRAY:
      return {.reason = "its elements are arrays: write it with one axis more"};
    default:
      return {.reason = "its elements are no numbers"};
  }
}

bool is_byte_strings(hid_t type) {
  if (H5Tget_class(type) != H5T_VLEN) return false;
  const hid_t inside = H5Tget_super(type);
  if (inside < 0) return false;
  const bool bytes = H5Tget_class(inside) == H5T_INTEGER && H5Tget_size(inside) == 1;
  H5Tclose(inside);
  return bytes;
}

bool is_texts(hid_t type) {
  return H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) > 0;
}

}  // namespace tundish::cli
