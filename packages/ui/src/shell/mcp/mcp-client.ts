import { createParser } from "eventsource-parser";
import { gatewayFetch } from "../store/gateway-fetch.js";
import { encodeHeaderText } from "./param-headers.js";

export type RpcObject = Readonly<Record<string, unknown>>;

/** A failed request: with the JSON-RPC code, if the response had one. */
export class McpError extends Error {
  readonly code: number | undefined;
  readonly data: unknown;

  constructor(message: string, { code, data }: { readonly code?: number; readonly data?: unknown } = {}) {
    super(message);
    this.name = "McpError";
    this.code = code;
    this.data = data;
  }
}

/** A notification that a server sends before its response. */
export interface McpNotification {
  readonly method: string;
  readonly params: RpcObject;
}

export interface McpRequestOptions {
  /** Cancels the request: the gateway notices that the response is no longer read. */
  readonly signal?: AbortSignal;
  readonly onNotification?: (notification: McpNotification) => void;
  /** Whether it is sent even if the page is being closed. Default false. */
  readonly isLast?: boolean;
  /** Headers of this request only. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A client of the gateway's endpoint, stateless as the protocol is since 2026-07-28. */
export interface McpClient {
  /** Sends a request and resolves with its result. Rejects with an McpError, or the reason of the signal. */
  request(method: string, params: RpcObject, options?: McpRequestOptions): Promise<RpcObject>;
}

export interface McpClientOptions {
  readonly endpoint: string;
  /** Headers of every request. */
  readonly headers: () => Readonly<Record<string, string>>;
  readonly info: { readonly name: string; readonly version: string };
  readonly capabilities: RpcObject;
}

const protocolVersion = "2026-07-28";

const metaKeys = {
  protocolVersion: "io.modelcontextprotocol/protocolVersion",
  clientInfo: "io.modelcontextprotocol/clientInfo",
  clientCapabilities: "io.modelcontextprotocol/clientCapabilities",
} as const;

/** The parameter that requests repeat in the header `mcp-name`, by method. */
const nameFields: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

export function createMcpClient({ endpoint, headers, info, capabilities }: McpClientOptions): McpClient {
  let lastId = 0;
  return {
    async request(method, params, { signal, onNotification, isLast = false, headers: own } = {}) {
      lastId += 1;
      const id = lastId;
      const _meta = {
        ...objectOf(params._meta),
        [metaKeys.protocolVersion]: protocolVersion,
        [metaKeys.clientInfo]: info,
        [metaKeys.clientCapabilities]: capabilities,
        ...(onNotification === undefined ? {} : { progressToken: id }),
      };
      const name = params[nameFields[method] ?? ""];
      const response = await gatewayFetch(endpoint, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": protocolVersion,
          "mcp-method": method,
          ...(typeof name === "string" ? { "mcp-name": encodeHeaderText(name) } : {}),
          ...own,
          ...headers(),
        },
        body: JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta } }),
        credentials: "same-origin",
        keepalive: isLast,
        ...(signal === undefined ? {} : { signal }),
      });
      return resultOf(await readResponse(response, id, onNotification), response.status);
    },
  };
}

/** The response to a request, in the body or as the last event of a stream. Undefined if there is none. */
async function readResponse(
  response: Response,
  id: number,
  onNotification: McpRequestOptions["onNotification"],
): Promise<RpcObject | undefined> {
  const type = response.headers.get("content-type") ?? "";
  if (type.startsWith("application/json")) return objectOf(await response.json());
  if (!type.startsWith("text/event-stream") || response.body === null) return undefined;
  let found: RpcObject | undefined;
  const parser = createParser({
    onEvent({ data }) {
      const message = objectOf(JSON.parse(data));
      if (typeof message.method === "string" && message.id === undefined) {
        onNotification?.({ method: message.method, params: objectOf(message.params) });
      } else if (message.id === id) {
        found = message;
      }
    },
  });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    while (found === undefined) {
      const { done, value } = await reader.read();
      if (done) break;
      parser.feed(value);
    }
  } finally {
    void reader.cancel().catch(() => {});
  }
  return found;
}

function resultOf(message: RpcObject | undefined, status: number): RpcObject {
  if (message !== undefined && typeof message.result === "object" && message.result !== null) {
    return message.result as RpcObject;
  }
  const { code, message: text, data } = objectOf(message?.error);
  if (typeof text === "string") {
    throw new McpError(text, { data, ...(typeof code === "number" ? { code } : {}) });
  }
  if (status === 401) throw new McpError("This page no longer has access. Run `wirescope page` for a new link.");
  if (status < 300) throw new McpError("The connection ended before the response arrived.");
  throw new McpError(`The gateway responded with status ${status}.`);
}

export function objectOf(value: unknown): RpcObject {
  return typeof value === "object" && value !== null ? (value as RpcObject) : {};
}
