// A sample's path through the cache, for load_sample().
#pragma once

#include "loader/memory/sample_cache.h"
#include "loader/sample/sample.h"

namespace tundish {

// Whether the sample is in the cache: its fields are then in scratch.sample, and scratch.cached has
// its pixels when these are kept. Nothing without a cache.
bool take_cached(const Recipe& recipe, const Draw& draw, Scratch& scratch);

// After a sample was read and found good: its bytes go into a cache of coded samples.
void keep_encoded(const Recipe& recipe, const Draw& draw, const Scratch& scratch);

// Decodes the whole image into a cache of pixels: scratch.cached has them. Not when other samples
// come sooner, or when a whole image takes more memory than this sample was given, or when it is
// damaged: the part that is needed may be valid.
void decode_to_cache(const Recipe& recipe, const Draw& draw, std::span<const View> views,
                     Bytes bytes, const ImageHeader& header, std::uint8_t orientation,
                     Scratch& scratch);

// Pushes the rows of `window` of a cached image, which was kept with its alpha or without.
void push_cached(StripSink& sink, const CachedSample& cached, const Window& window, bool has_alpha,
                 DecodeScratch& scratch);

}  // namespace tundish
