import type { ServerResponse } from "node:http";
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { expect } from "vitest";
import { startHostileServer } from "../../http/hostile-http-server.test.helper.js";
import { createStreamableHttpTransport } from "./streamable-http-transport.js";
import type { TransportContext } from "./transport.js";
import { overNetwork } from "./transport-context.test.helper.js";
import {
  type ContractServer,
  type ContractSetup,
  describeTransportContract,
} from "./transport-contract.test.helper.js";

/** A server that responds to each request in the body of its own post: as JSON if there is only the response, else as events. */
async function open(context: TransportContext, serve: ContractServer, isStream: boolean): Promise<ContractSetup> {
  const server = await startHostileServer(({ body }, response) => {
    const message = JSON.parse(body) as JSONRPCMessage;
    if (!("method" in message && "id" in message)) {
      serve(message, { send: () => {}, sendGarbage: () => {} });
      response.writeHead(202).end();
      return;
    }
    const write = isStream ? writeEvents(response) : writeJson(response);
    const isValidResponse = (sent: JSONRPCMessage): boolean => !("method" in sent) && sent.id === message.id;
    serve(message, {
      send: (sent) => write(JSON.stringify(sent), isValidResponse(sent)),
      sendGarbage: (text) => write(text, false),
    });
  });
  const network = overNetwork(context, server.url);
  return {
    transport: createStreamableHttpTransport(network),
    kill: server.kill,
    dispose: () => network.http.close(),
    assertGone: () => expect(server.sockets.size).toBe(0),
  };
}

function writeEvents(response: ServerResponse): (text: string, isLast: boolean) => void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.flushHeaders();
  return (text, isLast) => {
    response.write(`data: ${text}\n\n`);
    if (isLast) response.end();
  };
}

function writeJson(response: ServerResponse): (text: string, isLast: boolean) => void {
  const parts: string[] = [];
  return (text, isLast) => {
    parts.push(text);
    if (!isLast) return;
    response.writeHead(200, { "content-type": "application/json; charset=utf-8" });
    response.end(parts.length === 1 ? parts[0] : `[${parts.join(",")}]`);
  };
}

describeTransportContract("Streamable HTTP with responses as events", {
  kind: "http",
  endsWithServer: false,
  open: (context, serve) => open(context, serve, true),
});

describeTransportContract("Streamable HTTP with responses as JSON", {
  kind: "http",
  endsWithServer: false,
  open: (context, serve) => open(context, serve, false),
});
