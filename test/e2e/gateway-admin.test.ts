import { execFile } from "node:child_process";
import { request } from "node:http";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import {
  type AdminClient,
  ConnectivityState,
  readAdminError,
  type Server,
  type SignInStep,
} from "@wirescope/gateway/admin";
import { connectAdmin } from "@wirescope/gateway/admin/node";
import type { Gateway } from "@wirescope/gateway/internal";
import { runGateway } from "@wirescope/gateway/internal/gateway";
import { createSecretRegistry } from "@wirescope/tool-server";
import { createMemoryVault } from "@wirescope/tool-server/auth";
import { parseConfiguration } from "@wirescope/tool-server/config";
import { expect, onTestFinished, test } from "vitest";
import { createBrowser } from "./browser.test.helper.js";
import { createLoginWorld, type LoginWorld } from "./login-world.test.helper.js";

const pollOptions = { timeout: 60_000, interval: 10 };

interface World extends LoginWorld {
  readonly gateway: Gateway;
  readonly admin: AdminClient;
  notes(): Promise<Server | undefined>;
}

/** A gateway to `notes`, which requires a sign-in with a real authorization server. */
async function createWorld(): Promise<World> {
  const world = await createLoginWorld({ hasForms: true });
  const secrets = createSecretRegistry();
  const text = JSON.stringify({ notes: { type: "http", url: world.tool.url } });
  const gateway = await runGateway({
    configurations: [
      {
        configuration: parseConfiguration(text, { secrets }),
        variables: {},
        pluginRoot: world.folder,
        assertTrusted: async () => {},
        oauth: { vault: createMemoryVault(), allowInsecureLoopback: true },
      },
    ],
    secrets,
  });
  onTestFinished(() => gateway.close({ graceMs: 0 }));
  const admin = connectAdmin(gateway.url ?? "", { token: gateway.token, adminToken: gateway.adminToken });
  const notes = async (): Promise<Server | undefined> => (await admin.listServers({})).servers[0];
  await expect.poll(async () => (await notes())?.failure?.code, pollOptions).toBe("SIGN_IN_NEEDED");
  return { ...world, gateway, admin, notes };
}

/** A whole message as text. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (_, part) => (typeof part === "bigint" ? String(part) : part));
}

test("[TS-D-ADMIN-8] signs in through the service: the browser returns to the gateway, and all watchers see it", async () => {
  const { admin, authorization, notes, tool } = await createWorld();
  const seen: Server[] = [];
  const leaving = new AbortController();
  const watching = (async () => {
    for await (const { servers } of admin.watchServers({}, { signal: leaving.signal })) seen.push(...servers);
  })().catch(() => {});
  await expect.poll(() => seen.length, pollOptions).toBe(1);

  const events: string[] = [];
  const steps: SignInStep[] = [];
  for await (const { event } of admin.signIn({ server: "notes", scopes: ["openid"], withSteps: true })) {
    if (event.case === "step") steps.push(event.value);
    else events.push(event.case ?? "");
    if (event.case === "prompt") {
      expect(event.value).toMatchObject({ issuer: authorization.issuer, way: { case: "browser" } });
      expect(event.value.scopes).toContain("notes:read");
      expect(event.value.storage).toMatch(/memory/);
      await expect.poll(() => seen.at(-1)?.authentication?.oauth?.signingIn, pollOptions).toBe(true);
      await createBrowser().signIn(event.value.way.value?.url ?? "");
    }
    if (event.case === "done") expect(event.value.server).toMatchObject({ name: "notes", serverName: "notes" });
  }
  expect(events).toEqual(["prompt", "done"]);
  expect(steps.map(({ name }) => name)).toContain("authorization server metadata");
  const received = steps.flatMap(({ received }) => received);
  expect(received.find(({ name }) => name === "access_token")?.value).toBe("[redacted]");
  const server = await notes();
  expect(server?.state).toBe(ConnectivityState.READY);
  expect(server?.authentication?.oauth).toMatchObject({
    signedIn: true,
    account: "ada",
    issuer: authorization.issuer,
    renewable: true,
    tokenType: "Bearer",
  });
  expect(Number(server?.authentication?.oauth?.expireTime?.seconds)).toBeGreaterThan(Date.now() / 1000);
  await expect.poll(() => seen.at(-1)?.toolCount, pollOptions).toBe(2);
  expect(seen.at(-1)?.authentication?.oauth).toMatchObject({ signedIn: true, signingIn: false });

  const report = await admin.signOut({ server: "notes" });
  expect(report).toMatchObject({ wiped: [{ issuer: authorization.issuer }], problems: [] });
  await expect.poll(() => seen.at(-1)?.failure?.code, pollOptions).toBe("SIGN_IN_NEEDED");
  expect(seen.at(-1)?.authentication?.oauth?.signedIn).toBe(false);
  expect(seen.at(-1)?.toolCount).toBeUndefined();
  leaving.abort();
  await watching;
  expect(tool.seen.size).toBeGreaterThan(0);
  for (const token of [...authorization.issued, ...tool.seen])
    expect(textOf([seen, report, steps])).not.toContain(token);
});

test("[TS-D-ADMIN-8] cancels a sign-in when its caller disconnects, unless another caller waits for it", async () => {
  const { admin, notes } = await createWorld();
  const [first, second] = [new AbortController(), new AbortController()];
  const promptOf = async (stream: ReturnType<AdminClient["signIn"]>) => {
    const iterator = stream[Symbol.asyncIterator]();
    const { event } = (await iterator.next()).value ?? {};
    if (event?.case !== "prompt" || event.value.way.case !== "browser") throw new Error(`No prompt: ${event?.case}`);
    return { rest: iterator.next(), prompt: event.value, ...event.value.way.value };
  };
  const one = await promptOf(admin.signIn({ server: "notes" }, { signal: first.signal }));
  const other = await promptOf(admin.signIn({ server: "notes" }, { signal: second.signal }));
  expect(other.prompt).toEqual({ ...one.prompt, signInId: other.prompt.signInId });
  const isAlive = (): Promise<boolean> =>
    new Promise((resolve) => {
      const asked = request(one.redirectUri, (response) => {
        response.resume();
        resolve(true);
      });
      asked.on("error", () => resolve(false)).end();
    });
  first.abort();
  await expect(one.rest).rejects.toThrow(/\[canceled\]/);
  expect(await isAlive()).toBe(true);
  expect((await notes())?.authentication?.oauth?.signingIn).toBe(true);
  second.abort();
  await expect(other.rest).rejects.toThrow(/\[canceled\]/);
  await expect.poll(isAlive, pollOptions).toBe(false);
  await expect.poll(async () => (await notes())?.authentication?.oauth?.signingIn, pollOptions).toBe(false);
  await expect(admin.completeSignIn({ signInId: one.prompt.signInId, address: "a" })).rejects.toThrow(/\[not_found\]/);
});

test("accepts the last address of a browser, and fails the sign-in for an invalid one", async () => {
  const { admin } = await createWorld();
  const browser = createBrowser({ cannotReach: (url) => url.includes("/callback?") });
  const signIn = async (address: (url: string) => Promise<string>): Promise<string | undefined> => {
    let last: string | undefined;
    for await (const { event } of admin.signIn({ server: "notes" })) {
      last = event.case;
      if (event.case !== "prompt") continue;
      const { signInId, way } = event.value;
      await admin.completeSignIn({ signInId, address: await address(way.value?.url ?? "") });
    }
    return last;
  };
  const error = await signIn(async () => "http://127.0.0.1/elsewhere").catch((caught: unknown) => caught);
  expect(readAdminError(error)).toMatchObject({ status: "FailedPrecondition", failure: { code: "SIGN_IN_FAILED" } });
  expect(await signIn(async (url) => (await browser.signIn(url)).url)).toBe("done");
});

test("[TS-D-ADMIN-5] serves buf curl by reflection, in every protocol", async () => {
  const { gateway } = await createWorld();
  const buf = fileURLToPath(new URL("../../node_modules/.bin/buf", import.meta.url));
  const token = `Authorization: Bearer ${gateway.token}`;
  const shared = ["curl", "--http2-prior-knowledge", "--header", token, "--reflect-header", token];
  const curl = async (...args: string[]): Promise<string> =>
    (await promisify(execFile)(buf, [...shared, ...args])).stdout;
  expect(await curl("--list-methods", gateway.url ?? "")).toContain("wirescope.v1.AdminService/WatchServers");
  for (const protocol of ["connect", "grpc", "grpcweb"]) {
    const output = await curl("--protocol", protocol, `${gateway.url}/wirescope.v1.AdminService/ListServers`);
    expect(JSON.parse(output)).toMatchObject({
      servers: [
        {
          name: "notes",
          transport: "TRANSPORT_HTTP",
          state: "CONNECTIVITY_STATE_TRANSIENT_FAILURE",
          failure: { code: "SIGN_IN_NEEDED" },
          authentication: { method: "AUTH_METHOD_OAUTH", summary: "OAuth, not signed in" },
        },
      ],
    });
  }
  const health = `${gateway.url}/grpc.health.v1.Health/Check`;
  expect(JSON.parse(await curl("--data", '{"service": "wirescope.v1.AdminService"}', health))).toEqual({
    status: "SERVING",
  });
});
