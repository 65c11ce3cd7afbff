import type {
  CallToolRequest,
  CallToolResult,
  Client,
  CompleteRequest,
  CompleteResult,
  GetPromptRequest,
  GetPromptResult,
  ListPromptsResult,
  ListResourcesResult,
  ListResourceTemplatesResult,
  ListToolsResult,
  Progress,
  ReadResourceRequest,
  ReadResourceResult,
  RequestOptions,
} from "@modelcontextprotocol/client";
import type { ConnectionInfo, ConnectivityState } from "../connection-info.js";
import type { StateChange } from "../diagnostics.js";
import type { ServerDescription } from "./client-settings.js";
import type { Call } from "./rpc/call.js";
import type { JsonObject } from "./rpc/json-rpc.js";

/** The lists that can change while a connection is open. */
export type ChangedList = "tools" | "resources" | "prompts";

/** Is called with each new state of a connection, before anybody who only observes it. */
export type StateListener = (change: StateChange<ConnectionInfo>) => void;

/** How a call is made. */
export interface CallOptions {
  /** Gives up; the server is told. The call rejects with CALL_CANCELLED. */
  readonly signal?: AbortSignal | undefined;
  /** How long the server may be silent, in milliseconds; each progress begins it anew. Default: that of the connection. */
  readonly idleTimeoutMs?: number | undefined;
  /** How long the call may take in all, in milliseconds. Default: for ever, as long as there is progress. */
  readonly totalTimeoutMs?: number | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** A request that is forwarded as it is. */
export interface ForwardedRequest {
  readonly method: string;
  /**
   * The parameters for the server as it turned out to be. In the newer era what is in their `_meta` overrides what this side says
   * of itself there.
   */
  readonly paramsFor: (server: ServerDescription) => JsonObject;
  /** Headers of the request, in addition to those of the transport and the credential. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/**
 * A connection to one tool server, for one tenant. Opens at the first call, or at `connect`; opens again, after a while that
 * grows, where it failed. Everything rejects with a ToolServerError.
 *
 * A call whose request never reached the server is made once more by itself; one that may have is made again only where
 * that changes nothing.
 */
export interface Connection extends AsyncDisposable {
  readonly info: ConnectionInfo;
  readonly state: ConnectivityState;
  /** What the server said of itself; undefined while it is not connected. */
  readonly server: ServerDescription | undefined;
  /** Connects, where it is not; also where it failed and rests. */
  connect(options?: Pick<CallOptions, "signal">): Promise<ServerDescription>;
  ping(options?: CallOptions): Promise<void>;
  listTools(options?: CallOptions): Promise<ListToolsResult>;
  callTool(params: CallToolRequest["params"], options?: CallOptions): Promise<CallToolResult>;
  listResources(options?: CallOptions): Promise<ListResourcesResult>;
  listResourceTemplates(options?: CallOptions): Promise<ListResourceTemplatesResult>;
  readResource(params: ReadResourceRequest["params"], options?: CallOptions): Promise<ReadResourceResult>;
  listPrompts(options?: CallOptions): Promise<ListPromptsResult>;
  getPrompt(params: GetPromptRequest["params"], options?: CallOptions): Promise<GetPromptResult>;
  complete(params: CompleteRequest["params"], options?: CallOptions): Promise<CompleteResult>;
  /** Any other request: `invoke` gets the client of the SDK and the options to pass on. */
  call<Result>(
    method: string,
    invoke: (client: Client, options: RequestOptions) => Promise<Result>,
    options?: CallOptions,
  ): Promise<Result>;
  /**
   * Sends a request for a call, past the client of the SDK and its schemas. Resolves with the result as it arrived, also one that
   * asks for input. It has no time limit. If the call is cancelled, the server is notified, and it rejects with the reason if that
   * is a ToolServerError, else with CALL_CANCELLED.
   */
  send(call: Call, request: ForwardedRequest): Promise<JsonObject>;
  /** Makes a request, and resolves with its result as it arrived. `totalTimeoutMs` defaults to the silence that is allowed. */
  request(method: string, params: JsonObject, options?: Pick<CallOptions, "totalTimeoutMs">): Promise<JsonObject>;
  /** Replaces secrets in text about this server: the user's, and those that the server made known. */
  redact(text: string): string;
  /** Calls the listener at each change of the state, until the returned function is called. */
  onState(listener: StateListener): () => void;
  /** Calls the listener for each list that changed, until the returned function is called. */
  onListChanged(listener: (list: ChangedList) => void): () => void;
  /** Ends it and all calls in flight, which reject with CONNECTION_CLOSED. `await using` does the same. */
  close(): Promise<void>;
}
