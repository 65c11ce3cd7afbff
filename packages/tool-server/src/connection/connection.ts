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
import type { Redact } from "../secrets/redactor.js";
import type { ServerDescription } from "./client-settings.js";
import type { ListProblem } from "./listed-items.js";
import type { Call } from "./rpc/call.js";
import type { RpcObject } from "./rpc/json-rpc.js";

/** The lists that can change while a connection is open. */
export type ChangedList = "tools" | "resources" | "prompts";

/** Called with each new state of a connection, before it is published to observers. */
export type StateListener = (change: StateChange<ConnectionInfo>) => void;

/** The options of a call. */
export interface CallOptions {
  /** Cancels the call and notifies the server. The call rejects with CALL_CANCELLED, whose `cause` is the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** The maximum time without a response or progress, in milliseconds. Default: that of the connection. */
  readonly idleTimeoutMs?: number | undefined;
  /** The maximum total time, in milliseconds. Default: none, as long as there is progress. */
  readonly totalTimeoutMs?: number | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** A request that is forwarded as it is. */
export interface ForwardedRequest {
  readonly method: string;
  readonly params: RpcObject;
  /**
   * The `_meta` of the request to this server. In the newer era, its keys override ours. Default: that of the parameters.
   */
  readonly metaFor?: ((server: ServerDescription) => RpcObject | undefined) | undefined;
  /** It is about to be sent to this server, for the first time or again. */
  readonly onAttempt?: ((server: ServerDescription) => void) | undefined;
  /** Headers of the request, in addition to those of the transport and the credential. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/**
 * A connection to one tool server, for one tenant. It opens with the first call or with `connect`, and reopens after failures with
 * increasing delays. All methods reject with a ToolServerError.
 *
 * A call whose request never reached the server is repeated once; one that may have arrived is repeated only if it changes nothing
 * on the server.
 */
export interface Connection extends AsyncDisposable {
  readonly info: ConnectionInfo;
  readonly state: ConnectivityState;
  /** The server's description of itself; undefined while it is not connected. */
  readonly server: ServerDescription | undefined;
  /** Connects if it is not connected, even during the delay after a failure. */
  connect(options?: Pick<CallOptions, "signal">): Promise<ServerDescription>;
  /**
   * Ends the delay after a failure, because its cause may be fixed: the next call tries again, or a connection that reconnects
   * automatically does so at once.
   */
  endDelay(): void;
  ping(options?: CallOptions): Promise<void>;
  listTools(options?: CallOptions): Promise<ListToolsResult>;
  callTool(params: CallToolRequest["params"], options?: CallOptions): Promise<CallToolResult>;
  listResources(options?: CallOptions): Promise<ListResourcesResult>;
  listResourceTemplates(options?: CallOptions): Promise<ListResourceTemplatesResult>;
  /**
   * What was omitted from a list when it was last requested, such as "tools/list", because it is invalid: a tool, or an optional part
   * of one. Empty while it is not connected.
   */
  listProblems(method: string): readonly ListProblem[];
  readResource(params: ReadResourceRequest["params"], options?: CallOptions): Promise<ReadResourceResult>;
  listPrompts(options?: CallOptions): Promise<ListPromptsResult>;
  getPrompt(params: GetPromptRequest["params"], options?: CallOptions): Promise<GetPromptResult>;
  complete(params: CompleteRequest["params"], options?: CallOptions): Promise<CompleteResult>;
  /** Makes any other request: `invoke` gets the SDK's client and the options to pass on. */
  call<Result>(
    method: string,
    invoke: (client: Client, options: RequestOptions) => Promise<Result>,
    options?: CallOptions,
  ): Promise<Result>;
  /**
   * Sends a request for a call without the SDK's client and its schemas. Resolves with the result as received, even if it
   * requests input. It has no time limit, except that of the entry for tool calls. If the call is cancelled, the server is notified, and
   * it rejects with the reason if that is a ToolServerError, else with CALL_CANCELLED.
   */
  send(call: Call, request: ForwardedRequest): Promise<RpcObject>;
  /** Makes a request and resolves with the result as received. `totalTimeoutMs` defaults to the connection's idle time-out. */
  request(method: string, params: RpcObject, options?: Pick<CallOptions, "totalTimeoutMs">): Promise<RpcObject>;
  /** Sends a notification as it is if the server is connected, else nothing. Keys in its `_meta` override ours. Rejects if it cannot be sent. */
  notify(method: string, params: RpcObject): Promise<void>;
  /** Redacts text about this server: the user's secrets, and those learned from the server. */
  readonly redact: Redact;
  /** Calls the listener for each change of the state, until the returned function is called. */
  onState(listener: StateListener): () => void;
  /** Calls the listener for each list that changed, until the returned function is called. */
  onListChanged(listener: (list: ChangedList) => void): () => void;
  /** Closes it. Calls in flight reject with CONNECTION_CLOSED. `await using` does the same. */
  close(): Promise<void>;
}
