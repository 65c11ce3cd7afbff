import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Quirk } from "@wirescope/quirks";
import { describe, expect, onTestFinished, test } from "vitest";
import type { SocketInfo } from "../../connection-info.js";
import { channelPrefix } from "../../diagnostics.js";
import { createMemoryVault } from "../vault/memory-vault.js";
import { createQuirkyClient } from "./quirky-client.test.helper.js";

/**
 * Vulnerabilities of other clients, as attacks on our whole sign-in. Attacks by a project on the user who opens it are in
 * connection/servers/advisories.test.ts. The parts have separate tests with the same numbers: isolation of stored tokens in
 * login/oauth-credential.test.ts, device flow in sign-in/device.test.ts, addresses in requests/oauth-request.test.ts, the page
 * in sign-in/loopback.test.ts.
 */

/** The destinations of sockets that are opened until the test ends. */
function watchSockets(): string[] {
  const opened: string[] = [];
  const onWire = (message: unknown): void => {
    const wire = message as SocketInfo;
    if (wire.kind !== "child") opened.push(wire.remoteName);
  };
  subscribe(`${channelPrefix}wire:opened`, onWire);
  onTestFinished(() => void unsubscribe(`${channelPrefix}wire:opened`, onWire));
  return opened;
}

test.each(["endpoint-file", "endpoint-shell", "endpoint-http"] as Quirk[])(
  "opens no crafted url that would run code (CVE-2025-6514, CVE-2026-51997): %s",
  async (quirk) => {
    const client = await createQuirkyClient([quirk]);
    expect(await client.call()).toBe("AUTHORIZATION_SERVER_INVALID");
    expect(client.signInRequests).toEqual([]);
    expect(client.authorization.count("/register")).toBe(0);
  },
);

describe("requests into the client's network (CVE-2026-51994, CVE-2026-51995)", () => {
  test("skips an internal metadata url, and connects to nothing there", async () => {
    const sockets = watchSockets();
    const client = await createQuirkyClient(["resource-metadata-internal"]);
    expect(await client.call()).toBe("result");
    expect(sockets.filter((name) => !name.startsWith("127.0.0.1:"))).toEqual([]);
  });

  test("rejects all metadata of an authorization server with an internal endpoint", async () => {
    const sockets = watchSockets();
    const client = await createQuirkyClient(["endpoint-metadata-service"]);
    expect(await client.call()).toBe("AUTHORIZATION_SERVER_INVALID");
    expect(sockets.filter((name) => !name.startsWith("127.0.0.1:"))).toEqual([]);
    expect(client.signInRequests).toEqual([]);
  });
});

test("gives a server of the same name and issuer none of another server's tokens (CVE-2026-51996)", async () => {
  const vault = createMemoryVault();
  const honest = await createQuirkyClient([], vault);
  expect(await honest.call()).toBe("result");
  const tokens = honest.authorization.issued();
  const given = tokens.length;
  const evil = await createQuirkyClient([], vault);
  evil.tool.authorizationServers = [honest.authorization.issuer];
  await evil.call();
  // It requires its own sign-in, whose tokens are for its own url.
  expect(evil.signInRequests).toHaveLength(1);
  const sent = JSON.stringify(evil.tool.requests.map(({ headers }) => headers));
  expect(tokens.slice(0, given).filter((token) => sent.includes(token))).toEqual([]);
  expect(honest.authorization.count("/token", "refresh_token")).toBe(0);
});

test("sends nothing to a device authorization endpoint over http (CVE-2026-108716)", async () => {
  const client = await createQuirkyClient(["device-http"]);
  const session = await client.servers.oauth("notes");
  const person = { show: () => Promise.reject(new Error("Nobody should be asked.")) };
  await expect(session?.signIn(person, { way: "device" })).rejects.toMatchObject({
    code: "AUTHORIZATION_SERVER_INVALID",
    message: expect.stringContaining("device_authorization_endpoint is invalid: its scheme is http"),
  });
});

test.each(["metadata-redirects-away", "token-redirects-away", "resource-redirects-away"] as Quirk[])(
  "follows no redirect to another origin with credentials, on any hop (CVE-2026-111769): %s",
  async (quirk) => {
    const client = await createQuirkyClient([quirk]);
    expect(await client.call()).not.toBe("result");
    expect(client.places).not.toContain("elsewhere");
  },
);

test("gives no credentials to a new authorization server that the tool server chose (CVE-2026-104850)", async () => {
  const client = await createQuirkyClient(["issuer-changes"]);
  expect(await client.call()).toBe("result");
  expect(await client.call()).toBe("ISSUER_CHANGED");
  expect(client.messages[0]).toContain(client.other.issuer);
  // Only its metadata was requested.
  expect(client.other.requests.length).toBeGreaterThan(0);
  for (const { method, path, headers } of client.other.requests) {
    expect({ method, path }).toEqual({ method: "GET", path: expect.stringContaining("/.well-known/") });
    expect(headers.authorization).toBeUndefined();
  }
});

test("runs no script of a response in a page, and shows it as plain text (CVE-2025-58747, CVE-2025-62800, CVE-2026-1721)", async () => {
  const client = await createQuirkyClient(["redirect-script"]);
  expect(await client.call()).toBe("SIGN_IN_FAILED");
  expect(client.messages[0]).toContain("access_denied");
  await expect.poll(() => client.pages.length).toBe(1);
  expect(client.pages[0]).not.toMatch(/<script/);
});
