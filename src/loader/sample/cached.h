// The path of a sample through the cache, for read_and_plan() and write_rows().
#pragma once

#include "loader/memory/sample_cache.h"
#include "loader/sample/sample.h"

namespace tundish {

// Returns whether the sample is cached. Its fields are then in scratch.sample, and scratch.cached
// has its pixels if pixels are cached. Returns false without a cache.
bool take_cached(const Recipe& recipe, const Draw& draw, Scratch& scratch);

// Call after a sample was read and found good: stores its bytes in a cache of coded samples.
void keep_encoded(const Recipe& recipe, const Draw& draw, const Scratch& scratch);

// Decodes the whole image into a cache of pixels and sets scratch.cached. Does nothing if other
// samples are needed sooner, if the whole image needs more memory than this sample was given, or if
// the image is damaged: the needed part may still be valid.
void decode_to_cache(const Recipe& recipe, const Draw& draw, std::span<const View> views,
                     Bytes bytes, const ImageHeader& header, std::uint8_t orientation,
                     Scratch& scratch);

// Pushes the rows of `window` of a cached image, which was stored with or without its alpha.
void push_cached(StripSink& sink, const CachedSample& cached, const Window& window, bool has_alpha,
                 DecodeScratch& scratch);

}  // namespace tundish
