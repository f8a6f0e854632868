//! Names of the environment variables that the command line and the wiring read.
//!
//! Never reads one.

/// Environment variable with the base URL of a Breadboard engine.
pub(crate) const ENV_API_URL: &str = "BREADBOARD_API_URL";
/// Environment variable with the engine's token. There is no option for it: other users of a machine can read options.
pub(crate) const ENV_API_TOKEN: &str = "BREADBOARD_API_TOKEN";
/// Environment variable with the token of the model that is configured at start.
pub(crate) const ENV_MODEL_TOKEN: &str = "BREADBOARD_MODEL_TOKEN";
/// Environment variable with the token of the embedding model that is configured at start.
pub(crate) const ENV_EMBEDDING_TOKEN: &str = "BREADBOARD_EMBEDDING_TOKEN";
/// Environment variable with the token of the reranker that is configured at start.
pub(crate) const ENV_RERANKER_TOKEN: &str = "BREADBOARD_RERANKER_TOKEN";
/// Environment variable with the key for OpenAI's own address.
pub(crate) const ENV_OPENAI_KEY: &str = "OPENAI_API_KEY";
/// Environment variable with the key for Anthropic's own address.
pub(crate) const ENV_ANTHROPIC_KEY: &str = "ANTHROPIC_API_KEY";
/// Environment variable with the key for Gemini's own address.
pub(crate) const ENV_GEMINI_KEY: &str = "GEMINI_API_KEY";
/// Environment variables that hold a token of ours. What is in them never leaves the server.
pub(crate) const TOKEN_VARIABLES: [&str; 7] = [
    ENV_API_TOKEN,
    ENV_MODEL_TOKEN,
    ENV_EMBEDDING_TOKEN,
    ENV_RERANKER_TOKEN,
    ENV_OPENAI_KEY,
    ENV_ANTHROPIC_KEY,
    ENV_GEMINI_KEY,
];
