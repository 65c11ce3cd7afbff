import { Agent, type ClientRequest, type IncomingMessage, request } from "node:http";
import { CallFailure, type CallHooks, type SoakClient, type SoakClientOptions } from "./soak-client.js";

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: { readonly message?: string };
  readonly result?: Result;
  readonly error?: { readonly code: number; readonly message: string };
}

interface Result {
  readonly resultType?: string;
  readonly requestState?: string;
  readonly inputRequests?: Readonly<Record<string, { readonly params?: { readonly message?: string } }>>;
  readonly content?: readonly { readonly text?: string }[];
  readonly tools?: readonly { readonly name: string }[];
}

interface Exchange {
  /** Resolves at the end of the response; rejects if it breaks. */
  readonly done: Promise<IncomingMessage>;
  break(): void;
}

const capabilities = { elicitation: { form: {} } };
const legacyVersion = "2025-11-25";
const modernVersion = "2026-07-28";

/** A light client of either era: a thousand of them fit into a process. */
export async function openRawClient(options: SoakClientOptions): Promise<SoakClient> {
  const { endpoint, token, name, era, isListening } = options;
  const agent = new Agent({ keepAlive: true });
  const open = new Set<ClientRequest>();
  const info = { name, version: "1" };
  const version = era === "legacy" ? legacyVersion : modernVersion;
  const headers: Record<string, string> = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  let lastId = 0;
  let isGone = false;

  const exchange = (
    method: string,
    body: object | undefined,
    onMessage: (message: Message) => void,
    more = {},
  ): Exchange => {
    let sent: ClientRequest | undefined;
    let isBroken = false;
    const text = body === undefined ? undefined : JSON.stringify({ jsonrpc: "2.0", ...body });
    const done = new Promise<IncomingMessage>((resolve, reject) => {
      const send = (isAgain: boolean): void => {
        const made = request(endpoint, { method, agent, headers: { ...headers, ...more } }, (response) => {
          readMessages(response, onMessage).then(() => resolve(response), reject);
        });
        sent = made;
        open.add(made);
        made.on("close", () => open.delete(made));
        made.on("error", (error: NodeJS.ErrnoException) => {
          // A connection that was not used for a while may end in the very moment in which it is.
          if (made.reusedSocket && error.code === "ECONNRESET" && !isAgain && !isBroken && !isGone) send(true);
          else reject(error);
        });
        made.end(text);
      };
      send(false);
    });
    done.catch(() => {});
    return {
      done,
      break() {
        isBroken = true;
        sent?.destroy();
      },
    };
  };

  const envelope = {
    "io.modelcontextprotocol/protocolVersion": modernVersion,
    "io.modelcontextprotocol/clientInfo": info,
    "io.modelcontextprotocol/clientCapabilities": capabilities,
  };
  /** A request, as its era has it. */
  const begin = (method: string, params: object, onMessage: (message: Message) => void): Exchange & { id: number } => {
    lastId += 1;
    const id = lastId;
    const _meta = { progressToken: id, ...(era === "modern" ? envelope : {}) };
    const named = (params as { name?: string }).name;
    const more =
      era === "legacy" ? {} : { "mcp-method": method, ...(named === undefined ? {} : { "mcp-name": named }) };
    return { id, ...exchange("POST", { id, method, params: { ...params, _meta } }, onMessage, more) };
  };
  const notify = (body: object): Promise<unknown> => exchange("POST", body, () => {}).done.catch(() => {});

  /** Makes a request, and gives its result. */
  const ask = async (method: string, params: object): Promise<Result & { readonly response: IncomingMessage }> => {
    let reply: Message | undefined;
    const response = await begin(method, params, (message) => {
      reply = message;
    }).done;
    if (reply?.result === undefined) throw new CallFailure(reply?.error?.message ?? `status ${response.statusCode}`);
    return { ...reply.result, response };
  };

  if (era === "legacy") {
    const { response } = await ask("initialize", { protocolVersion: version, capabilities, clientInfo: info });
    headers["mcp-session-id"] = String(response.headers["mcp-session-id"]);
    await notify({ method: "notifications/initialized" });
  }
  headers["mcp-protocol-version"] = version;
  if (isListening && era === "legacy") exchange("GET", undefined, () => {});
  else if (isListening) begin("subscriptions/listen", { notifications: { toolsListChanged: true } }, () => {});

  const call = (tool: string, args: object, hooks: CallHooks) => {
    let isOff = false;
    let leg: (Exchange & { id: number }) | undefined;
    const run = async (more: object): Promise<string | undefined> => {
      let reply: Message | undefined;
      leg = begin("tools/call", { name: tool, arguments: args, ...more }, (message) => {
        if (message.method === "notifications/progress") hooks.onProgress(message.params?.message ?? "");
        else if (message.method === "elicitation/create") {
          const content = { mark: hooks.onQuestion(message.params?.message ?? "") };
          void notify({ id: message.id, result: { action: "accept", content } });
        } else if (message.method === undefined) reply = message;
      });
      let status: number | undefined;
      try {
        status = (await leg.done).statusCode;
      } catch (error) {
        if (isOff) return undefined;
        throw new CallFailure(`The connection broke: ${(error as Error).message}`);
      }
      if (reply === undefined && isOff) return undefined;
      if (reply?.result === undefined) throw new CallFailure(reply?.error?.message ?? `No response, status ${status}`);
      const { result } = reply;
      if (result.resultType !== "input_required") return result.content?.[0]?.text ?? "";
      const asked = Object.entries(result.inputRequests ?? {}).map(([key, { params }]) => {
        return [key, { action: "accept", content: { mark: hooks.onQuestion(params?.message ?? "") } }];
      });
      if (isOff) return undefined;
      return run({ inputResponses: Object.fromEntries(asked), requestState: result.requestState });
    };
    return {
      result: run({}),
      cancel() {
        isOff = true;
        if (era === "modern") leg?.break();
        else
          void notify({
            method: "notifications/cancelled",
            params: { requestId: leg?.id, reason: "changed its mind" },
          });
      },
    };
  };

  const vanish = (): void => {
    isGone = true;
    for (const sent of open) sent.destroy();
    agent.destroy();
  };
  return {
    era,
    session: headers["mcp-session-id"],
    call,
    list: async () => ((await ask("tools/list", {})).tools ?? []).map((tool) => tool.name),
    async close() {
      if (era === "legacy") await exchange("DELETE", undefined, () => {}).done.catch(() => {});
      vanish();
    },
    vanish,
  };
}

/** Reads a response: one message of JSON, or a stream of events. Rejects if it breaks off. */
async function readMessages(response: IncomingMessage, onMessage: (message: Message) => void): Promise<void> {
  const isStream = String(response.headers["content-type"]).startsWith("text/event-stream");
  let text = "";
  response.setEncoding("utf8");
  for await (const chunk of response) {
    text += chunk;
    if (!isStream) continue;
    const events = text.split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) {
      const data = event.split("\n").flatMap((line) => (line.startsWith("data:") ? [line.slice(5)] : []));
      if (data.length > 0) onMessage(JSON.parse(data.join("\n")));
    }
  }
  if (!isStream && text.startsWith("{")) onMessage(JSON.parse(text));
}
