//! What the tests, benchmarks, examples and fuzz targets of this package reach, room by room. Not an interface for anybody else.
//!
//! Everything else is private to the crate, so that the compiler says what nothing uses. Adds nothing of its own.

#![allow(missing_docs, reason = "each item has its documentation where it stands")]

pub use breadboard_core::{domain, protocol};

pub mod app {
    pub use crate::app::{App, ClientId, EditorEvent, Event, Ports, run};
    pub mod inbox {
        pub use crate::app::inbox::{
            Answer, CommandOffer, DocumentEvent, ENGINE_BOUND, EditorAbilities, EditorEvent, EditorReply,
            Folder, Inbox, OfferKind, PlainAbilities, Reply, StandardAnswer, StandardRequest, StartUp,
            StateHint, WordKind, WordOffered,
        };
    }
    pub mod ports {
        pub use crate::app::ports::{
            AgentCall, AgentHello, AgentProcess, AgentReport, AgentSession, Ambient, Applied, Artifact,
            Attachment, BatchRow, BlockRow, ClientRequest, CommandRan, Commit, Connectivity, DiffFor,
            DiffJob, DiffRoot, DiffSide, DownloadFor, Engine, EngineCall, EngineCursor, EngineDecision,
            EngineReport, EngineSession, EngineTraits, FileJob, FileJobDone, FileText, Files, Found,
            HolderRequest, Journal, JournalError, Lease, LedgerRow, LinkNews, ListedSessions, ModelEndpoint,
            ModelEndpoints, NewSession, News, OpenJournal, Outbox, PatchText, Preview, Prompt, RealPlace,
            ResumedLink, Ruling, Secret, SessionHome, SessionReply, SessionRow, Settlement, SpecFilesDone,
            SpecJob, StreamCall, StreamReport, StreamResume, TabRow, TerminalPiece, TextPart, TurnEnd,
            TurnJob, TurnJobDone, TurnScopes,
        };
    }
    pub mod wire_out {
        pub use crate::app::wire_out::events;
    }
}
pub mod editor {
    pub use crate::editor::{
        FrameOutbox, Guard, Inbound, Message, RequestId, Skimmed, Skimmer, open_stdout, read_start_up,
    };
}
pub mod engine {
    pub mod acp {
        pub use crate::engine::acp::{AcpEngine, AgentTimeouts, Setup};
        pub mod client_side {
            pub use crate::engine::acp::client_side::{
                ClientFiles, CreateTerminal, EnvVariable, Printed, TerminalExit, TerminalOutput, Terminals,
                WriteBase,
            };
        }
        pub mod framing {
            pub use crate::engine::acp::framing::{Line, LineReader};
        }
        pub mod process {
            pub use crate::engine::acp::process::{
                AgentCommand, AgentProcess, AgentStdin, AgentStdout, Cwd, ExitNote, Secrets,
            };
        }
    }
    pub mod breadboard {
        pub use crate::engine::breadboard::{BreadboardEngine, Setup};
        pub mod client {
            pub use crate::engine::breadboard::client::{Client, EngineTimeouts, From};
        }
        pub mod engine_error {
            pub use crate::engine::breadboard::engine_error::{Denied, EngineError};
        }
        pub mod link {
            pub use crate::engine::breadboard::link::{LinkTiming, Links};
        }
    }
}
pub mod host {
    pub mod index {
        pub use crate::host::index::{FolderIndex, IndexStanding, IndexStatus, IndexTask, Indexes};
    }
    pub mod ports {
        pub use crate::host::ports::{Root, WorkspaceView};
    }
    pub mod embeddings {
        pub use crate::engine::embedded::embed_by;
    }
    pub mod reranker {
        pub use crate::engine::embedded::rerank_by;
    }
    pub mod retrieval {
        pub use crate::host::retrieval::{
            Found, PassagesRead, Place, Symbol, SymbolKind, find_places, new_indexes,
        };
    }
}
pub mod http {
    pub use crate::http::{BaseUrl, Unreached};
}
pub mod simulate {
    pub mod breadboard {
        pub use crate::simulate::breadboard::{
            Faults, HoldPoint, Script, SeenRequest, SentEvent, Simulator, SimulatorOptions,
        };
    }
    pub mod desktop {
        pub use crate::simulate::desktop::{HostDialect, HostOptions, HostSimulator, Plot};
    }
}
pub mod store {
    pub use crate::store::SqliteJournal;
    pub mod front_records {
        pub use crate::store::front_records::{Record, read, write};
    }
}
pub mod workspace {
    pub use crate::workspace::WorkspaceFiles;
}
