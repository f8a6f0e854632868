//! State on disk that was cut, flipped, removed, replaced or is no regular file: said, and nothing of the rest lost.
