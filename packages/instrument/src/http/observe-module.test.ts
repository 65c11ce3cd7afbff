import { once } from "node:events";
import { Agent, createServer, get, type IncomingMessage } from "node:http";
import { createRegistry } from "@wirescope/channelz";
import { expect, test } from "vitest";
import { portOf } from "../sockets/connections.test.helper.js";
import { eventually } from "./both-ends.test.helper.js";
import { observeHttpModule } from "./observe-module.js";

test("what the process makes is shown, leaves when observation stops, and comes back when it starts again", async () => {
  const registry = createRegistry();
  let stop = observeHttpModule(registry);
  const server = createServer((_asked, response) => response.end("hello"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const agent = new Agent({ keepAlive: true });
  const visit = async (): Promise<void> => {
    const [response] = (await once(get({ host: "127.0.0.1", port: portOf(server), agent }), "response")) as [
      IncomingMessage,
    ];
    response.resume();
    await once(response, "close");
  };
  const shown = { channels: 1, subchannels: 1, servers: 1, sockets: 3 };
  const nothing = { channels: 0, subchannels: 0, servers: 0, sockets: 0 };
  await visit();
  await eventually(() => expect(registry.size).toMatchObject(shown));

  stop();
  expect(registry.size).toMatchObject(nothing);
  await visit();
  expect(registry.size).toMatchObject(nothing);

  stop = observeHttpModule(registry);
  await visit();
  await eventually(() => expect(registry.size).toMatchObject(shown));

  agent.destroy();
  server.close();
  await once(server, "close");
  expect(registry.size).toMatchObject({ servers: 0 });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  expect(registry.size).toMatchObject({ servers: 1 });
  server.close();
  await once(server, "close");
  stop();
  await eventually(() => expect(registry.size).toMatchObject(nothing));
});
