// Compiles the non-header part of fmt once. Debian ships that part only as a shared library, and
// fmt's header-only mode recompiles it in every source: 3 s each, 25 s under AddressSanitizer.
#include <fmt/format-inl.h>

#include <locale>

#if FMT_VERSION < 100000  // later versions are used header-only

FMT_BEGIN_NAMESPACE
namespace detail {

// Templates that fmt/format.h declares extern, and the functions its templates call.
template auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl<char>(locale_ref) -> char;
template auto dragonbox::to_decimal<float>(float) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal<double>(double) noexcept -> dragonbox::decimal_fp<double>;
template void buffer<char>::append<char>(const char*, const char*);
template locale_ref::locale_ref(const std::locale&);
template auto locale_ref::get<std::locale>() const -> std::locale;
template void vformat_to<char>(buffer<char>&, string_view, basic_format_args<buffer_context<char>>,
                               locale_ref);

}  // namespace detail
FMT_END_NAMESPACE

#endif
