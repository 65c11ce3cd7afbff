import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { expect } from "vitest";
import { overNetwork } from "./transport-context.test.helper.js";
import { describeTransportContract } from "./transport-contract.test.helper.js";
import { serveWebSockets } from "./websocket.test.helper.js";
import { createWebSocketTransport } from "./websocket-transport.js";

describeTransportContract("WebSocket", {
  kind: "ws",
  endsWithServer: true,
  // `ws` cannot skip a message.
  endsWithLargeResponse: true,
  async open(context, serve) {
    const { url, sockets } = await serveWebSockets((socket) => {
      const reply = {
        send: (message: JSONRPCMessage) => socket.send(JSON.stringify(message)),
        sendGarbage: (text: string) => socket.send(text),
      };
      socket.on("message", (data) => serve(JSON.parse(String(data)), reply));
    });
    const network = overNetwork(context, url);
    return {
      transport: createWebSocketTransport(network),
      dispose: () => network.http.close(),
      kill() {
        for (const socket of sockets) socket.resetAndDestroy();
      },
      assertGone: () => expect(sockets.size).toBe(0),
    };
  },
});
