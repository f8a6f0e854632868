/**
 * What the SDK asks of a JSON-RPC connection. `MessageConnection` of vscode-jsonrpc and `LanguageClient` of
 * vscode-languageclient fit as they are; anything else needs these four methods.
 */

/** Something that can be given back. Giving it back twice does nothing. */
export interface Disposable {
  /** Gives it back. */
  dispose(): void;
}

/** A wish to cancel, as vscode-jsonrpc and VS Code know it. */
export interface CancellationToken {
  /** Whether it is cancelled. */
  readonly isCancellationRequested: boolean;
  /** Calls `listener` once when it is cancelled. */
  onCancellationRequested(listener: (event: unknown) => unknown): Disposable;
}

/** A JSON-RPC connection. */
export interface Connection {
  /** Sends a request. Rejects with `{ code, message, data? }`, the JSON-RPC error. */
  sendRequest(method: string, params: unknown, token?: CancellationToken): Promise<unknown>;
  /** Sends a notification. */
  sendNotification(method: string, params: unknown): Promise<void>;
  /** Hears a notification. A connection may know one handler a method; the client shares it out. */
  onNotification(method: string, handler: (params: unknown) => void): Disposable;
  /** Answers requests of the other side; absent where there are none (a webview). */
  onRequest?(method: string, handler: (params: unknown) => unknown): Disposable;
}
