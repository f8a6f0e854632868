//! Commands and agents that try to outlive their turn, their server or their editor.
