//! Editors that open, change and close more and faster than the loop works.
