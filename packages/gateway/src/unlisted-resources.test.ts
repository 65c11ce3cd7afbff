import { expect, test } from "vitest";
import { connect, connectOld, pollOptions, startTestGateway, type TestGateway } from "./gateway.test.helper.js";
import { type RawMethod, serveRaw } from "./raw-server.test.helper.js";
import { request } from "./task-servers.test.helper.js";

const uri = "note://unlisted";
const absent = { command: "/nonexistent/server" };

const noted: RawMethod = ({ params }) => JSON.stringify({ contents: [{ uri: params?.uri, text: "a note" }] });
const refusing: RawMethod = ({ id }, response) => {
  const error = { code: -32_002, message: "Resource not found", data: { uri } };
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ jsonrpc: "2.0", id, error }));
  return undefined;
};

/** A gateway whose HTTP servers are connected. */
async function start(methods: Readonly<Record<string, RawMethod>>, others: object = {}): Promise<TestGateway> {
  const servers = await Promise.all(
    Object.entries(methods).map(async ([name, read]) => [name, (await serveRaw({ "resources/read": read })).entry]),
  );
  const gateway = await startTestGateway({ ...Object.fromEntries(servers), ...others });
  const isConnected = (name: string): boolean =>
    gateway.gateway.servers().some((server) => server.name === name && server.state === "READY");
  await expect.poll(() => Object.keys(methods).every(isConnected), pollOptions).toBe(true);
  return gateway;
}
/** The error of reading the resource as a client of SDK 1.x, which does not change it. */
const readFailure = async (gateway: TestGateway): Promise<unknown> => {
  const client = await connectOld(gateway);
  return client.readResource({ uri }).then(
    () => undefined,
    (error: unknown) => error,
  );
};

test("an unlisted resource is read from the only server with resources, and else by a URI that identifies the server", async () => {
  const client = await connect(await start({ notes: noted }), "legacy");
  expect((await client.readResource({ uri })).contents).toEqual([{ uri, text: "a note" }]);

  const several = await start({ notes: noted, files: refusing });
  const uris = [`wirescope://notes/${uri}`, `wirescope://files/${uri}`];
  expect(await readFailure(several)).toMatchObject({
    message: expect.stringContaining(`use a URI that identifies the server: ${uris.join(" or ")}.`),
    data: { uri, uris },
  });
  const other = await connect(several, "legacy");
  expect((await other.readResource({ uri: uris[0] as string })).contents).toMatchObject([{ text: "a note" }]);
});

test("the error for an unknown resource names the servers that are not connected", async () => {
  const gateway = await start({}, { absent });
  const message = `No server lists the resource "${uri}". These servers are not connected, and may have it: "absent".`;
  expect(await readFailure(gateway)).toMatchObject({ message: expect.stringContaining(message), data: { uri } });
});

test("a client gets the code of its era for an unknown resource, from the gateway and from a server", async () => {
  for (const servers of [{}, { files: refusing }]) {
    const gateway = await start(servers);
    expect(await readFailure(gateway)).toMatchObject({ code: -32_002, data: { uri } });
    const { error } = await request(gateway, "resources/read", { uri });
    expect(error).toMatchObject({ code: -32_602, data: { uri } });
  }
});
