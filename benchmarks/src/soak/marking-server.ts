/** The two ways in which the protocol is spoken. */
export type Era = "legacy" | "modern";

export interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: Params;
  readonly result?: { readonly content?: { readonly mark?: string } };
}

interface Params {
  readonly name?: string;
  readonly arguments?: MarkArguments;
  readonly requestId?: number | string;
  readonly inputResponses?: { readonly mark?: { readonly content?: { readonly mark?: string } } };
  readonly _meta?: { readonly progressToken?: number | string };
}

/** The arguments of the one tool of these servers. */
export interface MarkArguments {
  /** Returned in the result, in progress notifications, and in a question. */
  readonly mark: string;
  /** How long to take. */
  readonly pauseMs?: number;
  /** Number of progress notifications. */
  readonly steps?: number;
  /** Whether to ask the client for the mark before the result. */
  readonly asks?: boolean;
}

/** One connection to a server whose results name the server and the call. */
export interface MarkingServer {
  /** Handles a message. Resolves with the response, or with undefined if there is no response, as for a cancelled call. */
  receive(message: Message, send: (message: object) => void): Promise<object | undefined>;
  cancel(id: number | string): void;
}

const info = { name: "marking", version: "1.0.0" };
const schema = { type: "object", properties: { mark: { type: "string" } } };
const tools = [{ name: "mark", inputSchema: schema }];

export function createMarkingServer(name: string, era: Era): MarkingServer {
  const running = new Map<number | string, () => void>();
  const questions = new Map<number | string, (mark: string | undefined) => void>();
  let lastQuestion = 0;

  const elicitation = (mark: string) => ({
    method: "elicitation/create",
    params: { mode: "form", message: mark, requestedSchema: schema },
  });
  const ask = (mark: string, send: (message: object) => void): Promise<string | undefined> =>
    new Promise((resolve) => {
      lastQuestion += 1;
      const id = `question-${lastQuestion}`;
      questions.set(id, resolve);
      send({ jsonrpc: "2.0", id, ...elicitation(mark) });
    });

  const callTool = async (params: Params, send: (message: object) => void): Promise<object> => {
    const { mark = "", pauseMs = 0, steps = 0, asks = false } = params.arguments ?? {};
    const progressToken = params._meta?.progressToken;
    for (let progress = 1; progress <= steps && progressToken !== undefined; progress += 1) {
      const params = { progressToken, progress, total: steps, message: mark };
      send({ jsonrpc: "2.0", method: "notifications/progress", params });
      await pause(pauseMs / (steps + 1));
    }
    await pause(pauseMs / (steps + 1));
    const given = params.inputResponses?.mark?.content?.mark;
    if (asks && era === "modern" && given === undefined) {
      return { resultType: "input_required", inputRequests: { mark: elicitation(mark) }, requestState: mark };
    }
    const asked = asks ? ` ${given ?? (await ask(mark, send))}` : "";
    return { content: [{ type: "text", text: `${name} ${mark}${asked}` }] };
  };

  const resultOf = async (message: Message, send: (message: object) => void): Promise<object | undefined> => {
    const { method, params = {} } = message;
    if (method === "tools/call") return callTool(params, send);
    if (method === "tools/list") return { tools, ttlMs: 60_000, cacheScope: "private" };
    if (method === "ping") return {};
    const capabilities = { tools: {} };
    if (era === "legacy" && method === "initialize") {
      return { protocolVersion: "2025-11-25", capabilities, serverInfo: info };
    }
    if (era === "modern" && method === "server/discover") {
      return { supportedVersions: ["2026-07-28"], capabilities, ttlMs: 60_000, cacheScope: "private" };
    }
    return undefined;
  };

  return {
    async receive(message, send) {
      const { id, method, params, result } = message;
      if (method === undefined) {
        if (id !== undefined) questions.get(id)?.(result?.content?.mark);
        return undefined;
      }
      if (id === undefined) {
        if (method === "notifications/cancelled" && params?.requestId !== undefined) running.get(params.requestId)?.();
        return undefined;
      }
      const off = new Promise<"off">((resolve) => running.set(id, () => resolve("off")));
      const came = await Promise.race([resultOf(message, send), off]);
      running.delete(id);
      if (came === "off") return undefined;
      if (came === undefined)
        return { jsonrpc: "2.0", id, error: { code: -32_601, message: `Method not found: ${method}` } };
      const whole = { resultType: "complete", ...came, _meta: { "io.modelcontextprotocol/serverInfo": info } };
      return { jsonrpc: "2.0", id, result: era === "modern" ? whole : came };
    },
    cancel: (id) => running.get(id)?.(),
  };
}

function pause(ms: number): Promise<void> | undefined {
  return ms <= 0 ? undefined : new Promise((resolve) => setTimeout(resolve, ms));
}
