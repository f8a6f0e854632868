/**
 * The page's end of the envelope.
 *
 * Owns the link to the editor: requests go through the SDK's client, which checks both ways; what the editor asks is
 * checked here. Knows no network: `postMessage` is all there is.
 */
import {
  BreadboardClient,
  type Connection,
  type Disposable,
  envelope,
  envelopeConnection,
  type Violation,
} from "@breadboard-ls/sdk";
import { type EditorMethod, isPageMethod, type PageMethod, pageParamsFault } from "../shared/page_methods";

/** What `acquireVsCodeApi` gives. */
export interface VsCodeApi {
  postMessage(message: unknown): void;
  getState(): unknown;
  setState(state: unknown): void;
}

/** How the page hears messages; `window` in a browser. */
export interface MessageSource {
  addEventListener(type: "message", listener: (event: MessageEvent) => void): void;
  removeEventListener(type: "message", listener: (event: MessageEvent) => void): void;
}

export type OnPageRequest = (method: PageMethod, params: Record<string, unknown>) => void;

export class HostLink implements Disposable {
  readonly client: BreadboardClient;
  private readonly connection: Connection & Disposable;

  constructor(
    api: Pick<VsCodeApi, "postMessage">,
    source: MessageSource,
    onRequest: OnPageRequest,
    violation: (violation: Violation) => void,
  ) {
    this.connection = envelopeConnection({
      post: (message) => api.postMessage(message),
      onMessage: (handler) => {
        const listener = (event: MessageEvent): void => {
          const message: unknown = event.data;
          // The connection reads whatever is no request.
          if ((message as { kind?: unknown } | null)?.kind !== "req") return handler(message);
          const read = envelope.readEnvelope(message);
          if (!read.ok || read.envelope.kind !== "req") return handler(message);
          const { id, method, params } = read.envelope;
          const fault = isPageMethod(method) ? pageParamsFault(method, params) : "there is no such method";
          if (fault === undefined) onRequest(method as PageMethod, (params ?? {}) as Record<string, unknown>);
          else violation({ method, message: `The editor asked for \`${method}\`: ${fault}.`, value: message });
          const code = isPageMethod(method) ? "invalid_params" : "unknown_method";
          api.postMessage(
            fault === undefined
              ? envelope.succeeded(id, {})
              : envelope.failed(id, { code, message: `\`${method}\`: ${fault}.` }),
          );
        };
        source.addEventListener("message", listener);
        return { dispose: () => source.removeEventListener("message", listener) };
      },
      onViolation: violation,
    });
    this.client = new BreadboardClient(this.connection, {
      onViolation: violation,
      // By the gate.
      notificationsAreChecked: true,
    });
  }

  /** Has something done in the editor. Rejects with a `BreadboardError`. */
  editor(method: EditorMethod, params: Record<string, unknown> = {}): Promise<unknown> {
    return this.connection.sendRequest(method, params);
  }

  dispose(): void {
    this.client.dispose();
    this.connection.dispose();
  }
}
