/** A message between an app and the page (JSON-RPC over `postMessage`, as the extension io.modelcontextprotocol/ui defines it). */
type AppMessage = Readonly<Record<string, unknown>>;

/** The requests that an app may send to the page. Each rejects if the user does not allow it. */
export interface AppHost {
  post(message: AppMessage): void;
  callTool(name: string, args: unknown): Promise<unknown>;
  readResource(uri: string): Promise<unknown>;
  openLink(url: string): Promise<void>;
  onHeight(height: number): void;
  /** The app is ready for the input of its tool. */
  onReady(): void;
  /** The theme, and the tool that the app belongs to. */
  context(): AppMessage;
}

export interface AppBridge {
  /** Handles a message from the app. Everything that is not part of the extension is ignored or refused. */
  receive(data: unknown): void;
  notify(method: string, params: AppMessage): void;
}

const latestVersion = "2026-01-26";
const maxWaiting = 8;
const [minHeight, maxHeight] = [60, 900];

export function createAppBridge(host: AppHost): AppBridge {
  let waiting = 0;

  const handle = async (method: string, params: AppMessage): Promise<unknown> => {
    switch (method) {
      case "ui/initialize":
        return {
          protocolVersion: typeof params.protocolVersion === "string" ? params.protocolVersion : latestVersion,
          hostInfo: { name: "wirescope", version: "0.1.0" },
          hostCapabilities: { serverTools: {}, serverResources: {}, openLinks: {} },
          hostContext: host.context(),
        };
      case "ping":
        return {};
      case "ui/request-display-mode":
        return { mode: "inline" };
      case "tools/call":
        return host.callTool(textOf(params.name, "name"), params.arguments ?? {});
      case "resources/read":
        return host.readResource(textOf(params.uri, "uri"));
      case "ui/open-link":
        await host.openLink(textOf(params.url, "url"));
        return {};
      default:
        throw new AppError(-32_601, `The page does not support ${method.slice(0, 100)}.`);
    }
  };

  const respond = async (id: unknown, method: string, params: AppMessage): Promise<void> => {
    try {
      // An app that floods the page with requests must not make it slow.
      if (waiting >= maxWaiting) throw new AppError(-32_000, "Too many requests at once.");
      waiting += 1;
      try {
        host.post({ jsonrpc: "2.0", id, result: await handle(method, params) });
      } finally {
        waiting -= 1;
      }
    } catch (error) {
      const code = error instanceof AppError ? error.code : -32_000;
      const message = error instanceof Error ? error.message : String(error);
      host.post({ jsonrpc: "2.0", id, error: { code, message } });
    }
  };

  return {
    receive(data) {
      const { jsonrpc, id, method, params } = objectOf(data);
      if (jsonrpc !== "2.0" || typeof method !== "string") return;
      if (typeof id === "string" || typeof id === "number") void respond(id, method, objectOf(params));
      else if (method === "ui/notifications/initialized") host.onReady();
      else if (method === "ui/notifications/size-changed") {
        const { height } = objectOf(params);
        if (typeof height === "number" && Number.isFinite(height)) {
          host.onHeight(Math.min(maxHeight, Math.max(minHeight, Math.ceil(height))));
        }
      }
    },
    notify: (method, params) => host.post({ jsonrpc: "2.0", method, params }),
  };
}

/** An error with a JSON-RPC code. */
class AppError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

function textOf(value: unknown, name: string): string {
  if (typeof value === "string") return value;
  throw new AppError(-32_602, `The parameter ${name} must be a string.`);
}

function objectOf(value: unknown): AppMessage {
  return typeof value === "object" && value !== null ? (value as AppMessage) : {};
}
