import { beforeAll, expect, test } from "vitest";
import { readEndpoints } from "./addresses.js";
import { connection, der, portOf, tlsConnection, unixPath } from "./connections.test.helper.js";
import { describeListenSocket, describeSocket } from "./describe-socket.js";
import { nativeSockets, whyNoSocketOptions } from "./native.js";

// As if Node was started with --no-addons, or the package has no binary for this platform. In a separate file, and so in a
// separate process, because the result of loading is cached.
beforeAll(() => {
  process.dlopen = () => {
    throw new Error("addons are switched off");
  };
});

test("returns no options and the reason if the native package is missing", () => {
  expect(nativeSockets()).toBe(undefined);
  expect(whyNoSocketOptions()).toMatch(/^Socket options /);
});

test("shows everything else if the native package is missing", async () => {
  const { server, client, accepted } = await tlsConnection();
  expect(readEndpoints(client).remote).toEqual({ ip: "127.0.0.1", port: portOf(server) });
  const { security, options } = describeSocket(client);
  expect(security).toMatchObject({ tls: { remoteCertificate: der("server.pem") } });
  expect(options).toBeUndefined();
  expect(describeSocket(accepted).security).toMatchObject({ tls: { localCertificate: der("server.pem") } });
  expect(describeListenSocket(server)).toEqual({ options: undefined });
});

test("keeps the given addresses of a Unix connection if the native package is missing", async () => {
  const path = unixPath();
  const { client } = await connection({ path });
  expect(readEndpoints(client, { path }).remote).toEqual({ path });
  expect(describeSocket(client)).toEqual({ security: undefined, options: undefined });
});
