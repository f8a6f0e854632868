//! Frames that are malformed, oversized, nested or interleaved.
