import { Agent, request } from "node:http";

/** The leanest client of a tool server over Streamable HTTP, to load one with. */
export interface RawToolClient {
  /** Calls a tool that echoes. Rejects where the answer is none. */
  call(): Promise<void>;
  close(): void;
}

export interface RawToolClientOptions {
  readonly url: string;
  readonly tool: string;
  readonly token?: string | undefined;
  readonly sockets: number;
}

/** Makes the handshake of revision 2025-11-25, and calls from then on. */
export async function openRawToolClient({ url, tool, token, sockets }: RawToolClientOptions): Promise<RawToolClient> {
  const agent = new Agent({ keepAlive: true, maxSockets: sockets });
  const headers: Record<string, string> = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  const post = (message: object): Promise<{ readonly body: string; readonly session: string | undefined }> =>
    new Promise((resolve, reject) => {
      const sent = request(url, { method: "POST", agent, headers }, (response) => {
        let body = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => {
          body += chunk;
        });
        response.on("end", () => resolve({ body, session: response.headers["mcp-session-id"] as string | undefined }));
        response.on("error", reject);
      });
      sent.on("error", reject);
      sent.end(JSON.stringify({ jsonrpc: "2.0", ...message }));
    });
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "bench", version: "0" } };
  const { session } = await post({ id: 0, method: "initialize", params });
  if (session !== undefined) headers["mcp-session-id"] = session;
  headers["mcp-protocol-version"] = "2025-11-25";
  await post({ method: "notifications/initialized" });
  let id = 0;
  return {
    async call() {
      id += 1;
      const { body } = await post({ id, method: "tools/call", params: { name: tool, arguments: { text: "hello" } } });
      if (!body.includes("hello")) throw new Error(`The call was answered with ${body.slice(0, 200)}`);
    },
    close: () => agent.destroy(),
  };
}
