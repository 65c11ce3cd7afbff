import { once } from "node:events";
import { createServer, get } from "node:http";
import { connectChannelz, createRegistry, listenChannelz } from "@wirescope/channelz";
import { observeHttpClients, observeHttpServer } from "@wirescope/instrument";

// These lines, and the listener below, are all that an application adds.
const registry = createRegistry();
const clients = observeHttpClients(registry);

const server = createServer((request, response) => {
  if (request.url === "/broken") response.write("half of", () => response.destroy());
  else if (request.url === "/missing") response.writeHead(404).end("no such page");
  else response.end("hello");
});
observeHttpServer(registry, server, { name: "pages" });
server.listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address();

const visit = (path) =>
  new Promise((resolve) => {
    const request = get({ host: "127.0.0.1", port, path });
    request.on("error", ({ message }) => resolve(message));
    request.on("response", (response) => {
      const chunks = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("error", ({ message }) => resolve(message));
      response.on("end", () => resolve(`${response.statusCode} ${chunks.join("")}`));
    });
  });
for (const path of ["/", "/missing", "/broken", "/"]) console.log(path, await visit(path));

// Any program on this machine can read it now: wirescope, grpcdebug, or this process itself.
const listener = await listenChannelz(registry);
const channelz = connectChannelz(listener.address);

const channel = (await channelz.getTopChannels()).channel.find(({ data }) => data.target.endsWith(`:${port}`));
print("channel", channel.data);
for (const { description } of channel.data.trace.events) console.log(`  ${description.replaceAll(port, "port")}`);
const serving = (await channelz.getServers()).server.find(({ ref }) => ref.name === "pages");
print("server", serving.data);

await channelz.close();
await listener.close();
clients.stop();
server.close();
server.closeAllConnections();

function print(what, { callsStarted, callsSucceeded, callsFailed }) {
  console.log(`${what}: ${callsStarted} calls, ${callsSucceeded} succeeded, ${callsFailed} failed`);
}
