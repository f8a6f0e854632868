//! Model endpoints that send too much, too long, too deep, compressed, never or nonsense.
