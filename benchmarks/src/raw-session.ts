import { once } from "node:events";
import { type Agent, type ClientRequest, request } from "node:http";

/** A session with a tool server over Streamable HTTP, at the lowest cost that Node allows. */
export interface RawSession {
  /** Undefined where the server keeps no sessions. */
  readonly id: string | undefined;
  /** Sends a message, and resolves with the body of its response. */
  post(message: object): Promise<string>;
  /** Opens the stream of what the server says unasked. */
  openStream(): Promise<ClientRequest>;
}

/** The client info in the handshake of revision 2025-11-25. */
export const handshake: object = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "bench", version: "0" },
};

/** Does the handshake. Rejects if nothing listens. */
export async function beginRawSession(url: string, agent: Agent, token?: string): Promise<RawSession> {
  const headers: Record<string, string> = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  const post = (message: object): Promise<RawResponse> =>
    send(agent, "POST", url, headers, JSON.stringify({ jsonrpc: "2.0", ...message }));
  const { session } = await post({ id: 0, method: "initialize", params: handshake });
  if (session !== undefined) headers["mcp-session-id"] = session;
  headers["mcp-protocol-version"] = "2025-11-25";
  await post({ method: "notifications/initialized" });
  return {
    id: session,
    post: async (message) => (await post(message)).body,
    async openStream() {
      const stream = request(url, { agent, headers: { ...headers, accept: "text/event-stream" } });
      stream.on("error", () => {});
      stream.end();
      await once(stream, "response");
      return stream;
    },
  };
}

interface RawResponse {
  readonly body: string;
  readonly session: string | undefined;
}

/** One request and its whole response. */
export function send(
  agent: Agent,
  method: string,
  url: string,
  headers: Record<string, string>,
  text?: string,
): Promise<RawResponse> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, agent, headers }, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        body += chunk;
      });
      response.on("end", () => resolve({ body, session: response.headers["mcp-session-id"] as string | undefined }));
      response.on("error", reject);
    });
    sent.on("error", reject);
    sent.end(text);
  });
}
