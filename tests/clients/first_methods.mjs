// What every server of version 1 of the wire has. A method that comes to the wire is not added here.

/** Methods that the first servers of this version had. */
export const FIRST = new Set(
  `init createSession listSessions selectSession deleteSession sendMessage stop approvePermission permission/list listFiles
  readFileSnippet openDiff textDocument downloadArtifact events/read eventBody view/page attachment/put command queue/list queue/edit
  queue/move queue/remove queue/resume tab/open tab/prompt tab/stop tab/close tab/visibility tab/detach tab/attach tab/ack
  agent/restart session/info rebuild models/list models/set setCredentials rpc`
    .split(/\s+/)
    .map((name) => `bb/${name}`),
);
