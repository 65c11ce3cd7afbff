import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { MarkArguments } from "./marking-server.js";
import { CallFailure, type CallHooks, type SoakClient, type SoakClientOptions } from "./soak-client.js";

/** A client of the SDK, as applications have them. */
export async function openSdkClient({ endpoint, token, name, era }: SoakClientOptions): Promise<SoakClient> {
  const client = new Client(
    { name, version: "1" },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: era === "modern" ? "auto" : "legacy" } },
  );
  // One call at a time is made, so a question is of that one.
  let hooks: CallHooks | undefined;
  client.setRequestHandler("elicitation/create", async ({ params: { message } }) => ({
    action: "accept",
    content: { mark: hooks?.onQuestion(message) ?? "" },
  }));
  const headers = { authorization: `Bearer ${token}` };
  const transport = new StreamableHTTPClientTransport(new URL(endpoint), { requestInit: { headers } });
  await client.connect(transport);
  const stop = new AbortController();

  return {
    era,
    session: transport.sessionId,
    call(tool: string, args: MarkArguments, given: CallHooks) {
      hooks = given;
      const controller = new AbortController();
      const signal = AbortSignal.any([controller.signal, stop.signal]);
      const onprogress = ({ message = "" }: { message?: string | undefined }): void => {
        // The client itself reports each round in which it was asked.
        if (!message.startsWith("Fulfilling input")) given.onProgress(message);
      };
      const result = client.callTool({ name: tool, arguments: { ...args } }, { signal, onprogress }).then(
        ({ content }) => (content?.[0] as { text?: string } | undefined)?.text ?? "",
        (error: Error) => {
          if (controller.signal.aborted) return undefined;
          throw new CallFailure(error.message);
        },
      );
      return { result, cancel: () => controller.abort() };
    },
    list: async () => (await client.listTools(undefined, { cacheMode: "refresh" })).tools.map((tool) => tool.name),
    async close() {
      if (era === "legacy") await transport.terminateSession().catch(() => {});
      await client.close();
    },
    vanish() {
      stop.abort();
      void client.close();
    },
  };
}
