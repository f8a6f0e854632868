//! The built-in conversation: a thought, words, one look at a file, one ask before an edit that is never made.
//!
//! Owns the text. It changes nothing on disk, and says so.

/// The script that is played when none is given.
pub(super) const SCRIPT: &str = r##"{
  "agent": {
    "commands": [{"name": "tour", "description": "Shows what a turn may contain."}]
  },
  "prompts": [{
    "when": "",
    "steps": [
      {"think": "Somebody wants to see how a turn looks. I show one of each."},
      {"say": "You said: “${prompt}” I am a simulated agent: I think, I look, and I ask before I change anything. "},
      {"plan": [
        {"content": "Look at the notes", "priority": "medium", "status": "in_progress"},
        {"content": "Propose an edit", "priority": "medium", "status": "pending"}
      ]},
      {"tool_call": {"toolCallId": "look-${turn}", "title": "Read notes.md", "kind": "read", "status": "pending",
        "locations": [{"path": "${cwd}/notes.md"}], "rawInput": {"path": "${cwd}/notes.md"}}},
      {"sleep_ms": 200},
      {"tool_call_update": {"toolCallId": "look-${turn}", "status": "completed",
        "content": [{"type": "content", "content": {"type": "text", "text": "# Notes\n"}}]}},
      {"say": "Now an edit. Nothing is written, whatever you answer. "},
      {"tool_call": {"toolCallId": "edit-${turn}", "title": "Edit notes.md", "kind": "edit", "status": "pending",
        "locations": [{"path": "${cwd}/notes.md"}], "rawInput": {"path": "${cwd}/notes.md"}}},
      {"ask": {"toolCall": {"toolCallId": "edit-${turn}", "title": "Edit notes.md", "kind": "edit", "status": "pending",
          "locations": [{"path": "${cwd}/notes.md"}],
          "content": [{"type": "diff", "path": "${cwd}/notes.md", "oldText": "# Notes\n", "newText": "# Notes\n\n- a simulated line\n"}]}},
        "on": {
          "allow_once": [
            {"tool_call_update": {"toolCallId": "edit-${turn}", "status": "completed",
              "content": [{"type": "diff", "path": "${cwd}/notes.md", "oldText": "# Notes\n", "newText": "# Notes\n\n- a simulated line\n"}]}},
            {"say": "Allowed, thank you. A real agent would have written the file now."}],
          "allow_always": [
            {"tool_call_update": {"toolCallId": "edit-${turn}", "status": "completed",
              "content": [{"type": "diff", "path": "${cwd}/notes.md", "oldText": "# Notes\n", "newText": "# Notes\n\n- a simulated line\n"}]}},
            {"say": "Allowed for good. I forget it at once: I ask again next time."}],
          "else": [
            {"tool_call_update": {"toolCallId": "edit-${turn}", "status": "failed",
              "content": [{"type": "content", "content": {"type": "text", "text": "The user rejected the edit."}}]}},
            {"say": "Rejected, so the file stays as it is."}]
        }},
      {"plan": [
        {"content": "Look at the notes", "priority": "medium", "status": "completed"},
        {"content": "Propose an edit", "priority": "medium", "status": "completed"}
      ]}
    ]
  }]
}"##;
