/** As much of `vscode-languageclient` as the connection uses, with what it was told written down. */

export const CloseAction = { DoNotRestart: 1, Restart: 2 };
export const ErrorAction = { Continue: 1, Shutdown: 2 };
export const RevealOutputChannelOn = { Never: 4 };
export const State = { Stopped: 1, Starting: 3, Running: 2 };
export const TransportKind = { stdio: 0 };

const ANSWER = {
  serverInfo: { name: "breadboard-ls" },
  capabilities: {
    experimental: { breadboard: { v: 1, methods: ["bb/init", "bb/setCredentials"], notifications: [] } },
  },
};

export class FakeClient {
  static readonly made: FakeClient[] = [];
  /** The answer to `initialize` of the next ones. */
  static answer: unknown;
  /** What happens while the next ones start. */
  static meanwhile: () => void = () => undefined;
  readonly sent: unknown[] = [];
  readonly told: unknown[] = [];
  readonly arity: number[] = [];
  readonly initializeResult = FakeClient.answer ?? ANSWER;
  stopped = false;
  private listener: ((change: { newState: number }) => void) | undefined;

  constructor(
    readonly id: string,
    readonly name: string,
    readonly server: unknown,
    readonly options: any,
  ) {
    FakeClient.made.push(this);
  }

  async start(): Promise<void> {
    FakeClient.meanwhile();
  }
  async stop(): Promise<void> {
    this.stopped = true;
    this.listener?.({ newState: State.Stopped });
  }
  isRunning(): boolean {
    return !this.stopped;
  }
  onDidChangeState(listener: (change: { newState: number }) => void): void {
    this.listener = listener;
  }
  onNotification(): void {}
  onRequest(): void {}
  async sendRequest(...args: unknown[]): Promise<unknown> {
    this.arity.push(args.length);
    this.sent.push(args.slice(0, 2));
    return {};
  }
  async sendNotification(...args: unknown[]): Promise<void> {
    this.told.push(args);
  }
  protected fillInitializeParams(_params: unknown): void {}
  /** What it would say of itself in `initialize`. */
  fill(params: unknown): void {
    this.fillInitializeParams(params);
  }
  /** The process ends, unasked. */
  end(): void {
    this.stopped = true;
    this.listener?.({ newState: State.Stopped });
  }
}
