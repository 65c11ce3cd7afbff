import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Run } from "./command.test.helper.js";
import { browsingPerson, createLoginWorld, type LoginWorld } from "./login-world.test.helper.js";

/** A person signs in. */
function login(world: LoginWorld, ...more: string[]): Promise<Run> {
  return world.run(["login", "notes", "--trust", ...more], { person: browsingPerson() });
}

/** Waits until all tokens that the server has seen are invalid: a slow login may have renewed the first. */
async function allExpired({ tool, authorization }: LoginWorld): Promise<void> {
  const good = async (): Promise<unknown[]> =>
    (await Promise.all([...tool.seen].map(authorization.find))).filter((found) => found !== undefined);
  await expect.poll(good).toEqual([]);
}

const call = ["call", "notes", "read", "--trust"];
const nobodySignedIn =
  /refused the request\. 401 Unauthorized: sign-in required\. Sign in with: wirescope login notes --config \S+\n$/;

describe("tokens", () => {
  test("[TS-OAUTH-6] [TS-ERR-5] refreshes expired tokens without a prompt", async () => {
    const world = await createLoginWorld({ lifetimeS: 1 });
    await login(world);
    await allExpired(world);
    world.authorization.lifetimeS = 3600;
    // A slow login may have asked twice.
    const [tokens, pages] = [world.authorization.count("/token"), world.authorization.count("/auth")];
    expect(await world.run(call)).toMatchObject({ code: 0, stdout: "milk, eggs\n", stderr: "" });
    expect(world.authorization.count("/token")).toBe(tokens + 1);
    expect(world.authorization.count("/auth")).toBe(pages);
    expect(world.filesWith(world.authorization.issued)).toEqual([]);
  });

  test("[TS-OAUTH-7] asks for one sign-in, with the reason, if the tokens are dead", async () => {
    const world = await createLoginWorld({ lifetimeS: 1 });
    await login(world);
    await world.authorization.endGrants();
    await allExpired(world);
    world.authorization.lifetimeS = 3600;
    expect((await world.run(call)).stderr).toMatch(/Sign in with: wirescope login notes --config \S+\n$/);
    const { code, stderr } = await world.run(call, { person: browsingPerson() });
    expect(code).toBe(0);
    expect(stderr.match(/^Sign in to notes .*, because the last sign-in expired\.$/gm)).toHaveLength(1);
  });

  test("[TS-OAUTH-11] asks for a sign-in with the missing scope and the previous ones, and marks the new one", async () => {
    const world = await createLoginWorld();
    await login(world);
    const write = ["call", "notes", "write", "text=x", "--trust"];
    const refused = await world.run(write);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(
      /403 Forbidden: scope notes:write required\. Sign in with: wirescope login notes --config \S+ --scope notes:write\n$/,
    );
    const { code, stdout, stderr } = await world.run(write, { person: browsingPerson() });
    expect({ code, stdout }).toEqual({ code: 0, stdout: "written\n" });
    expect(stderr).toContain("because it requires more scopes.");
    expect(stderr).toContain("  notes:read\n  offline_access\n  notes:write  (new)\n");
    expect(await world.run(call)).toMatchObject({ code: 0, stderr: "" });
  });

  test("adds a missing scope with the advised command", async () => {
    const world = await createLoginWorld();
    await login(world);
    const { code, stderr } = await login(world, "--scope", "notes:write");
    expect(code).toBe(0);
    expect(stderr).toContain("  notes:write  (new)\n");
    expect((await world.run(["call", "notes", "write", "text=x", "--trust"])).stdout).toBe("written\n");
  });

  test("[TS-SEC-7] does not use the tokens of another profile", async () => {
    const world = await createLoginWorld();
    await login(world, "--profile", "production");
    expect((await world.run(call)).stderr).toMatch(nobodySignedIn);
    expect((await world.run([...call, "--profile", "development"])).code).toBe(1);
    expect((await world.run(call, { env: { WIRESCOPE_PROFILE: "production" } })).code).toBe(0);
    await world.run(["logout", "notes", "--trust", "--profile", "development"]);
    expect((await world.run([...call, "--profile", "production"])).code).toBe(0);
  });

  test("[TS-D-STORE-7] does not open tokens with another key, and changes nothing", async () => {
    const world = await createLoginWorld();
    await login(world);
    const env = { WIRESCOPE_VAULT_KEY: randomBytes(32).toString("base64") };
    for (const argv of [call, ["auth", "--trust"], ["logout", "notes", "--trust"], ["login", "notes", "--trust"]]) {
      const { code, stderr } = await world.run(argv, { env });
      expect(code).toBe(1);
      expect(stderr).toMatch(/The vault \S+ was not created with this key/);
      expect(stderr).not.toContain(env.WIRESCOPE_VAULT_KEY);
    }
    expect((await world.run(call)).code).toBe(0);
  });

  test("[TS-D-STORE-1] warns that tokens are stored in memory only, and loses them afterwards", async () => {
    const world = await createLoginWorld();
    const { code, stderr } = await login(world, "--vault", "memory");
    expect(code).toBe(0);
    expect(stderr).toContain("Tokens are stored in memory only");
    const auth = await world.run(["auth", "--trust", "--vault", "memory"]);
    expect(auth.stdout).toContain("Tokens are stored in memory only");
    expect(auth.stdout).toMatch(/^notes +not signed in/m);
    expect(world.filesWith(world.authorization.issued)).toEqual([]);
  });

  test("rejects an unknown kind of vault", async () => {
    const world = await createLoginWorld();
    expect(await world.run(["auth"], { env: { WIRESCOPE_VAULT: "cupboard" } })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('must be one of auto, keychain, file, memory, not "cupboard"'),
    });
    expect(await world.run(["auth"], { env: { WIRESCOPE_VAULT_KEY: undefined } })).toMatchObject({ code: 1 });
  });
});

describe("a sign-out", () => {
  test("[TS-OAUTH-8] revokes both tokens and deletes them", async () => {
    const world = await createLoginWorld();
    await login(world);
    const [token = ""] = world.tool.seen;
    expect(await world.spawn(["logout", "notes", "--trust"])).toEqual({
      code: 0,
      stdout: [
        `Deleted the tokens issued by ${world.authorization.issuer}.`,
        "  refresh token: revoked",
        "  access token: revoked",
        "",
      ].join("\n"),
      stderr: "",
    });
    expect(await world.authorization.find(token)).toBeUndefined();
    expect((await world.run(call)).stderr).toMatch(nobodySignedIn);
    expect((await world.run(["logout", "notes", "--trust"])).stdout).toBe("You were not signed in to notes.\n");
    // The registration is deleted too.
    await login(world);
    expect(world.authorization.count("/reg")).toBe(2);
  });

  test("[TS-OAUTH-8] names the tokens for another url and tenant that remain, and deletes them with --all", async () => {
    const world = await createLoginWorld();
    await login(world);
    const [token = ""] = world.tool.seen;
    world.configure({
      notes: { type: "http", url: world.tool.url, headers: { "X-Workspace-ID": "${WORKSPACE_ID:-main}" } },
    });
    expect((await world.run(["logout", "notes", "--trust"])).stdout).toBe(
      [
        "You were not signed in to notes.",
        `The tokens of notes for ${world.tool.url} remain.`,
        "Run this command again with --all to delete them.",
        "",
      ].join("\n"),
    );
    expect(await world.authorization.find(token)).toBeDefined();
    expect(await world.run(["logout", "notes", "--all", "--trust"])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`Deleted the tokens issued by ${world.authorization.issuer}.`),
    });
    expect(await world.authorization.find(token)).toBeUndefined();
    expect((await world.run(["logout", "notes", "--trust"])).stdout).toBe("You were not signed in to notes.\n");
  });

  test("reports that the authorization server is unreachable, and deletes the tokens anyway", async () => {
    const world = await createLoginWorld();
    await login(world);
    await world.authorization.close();
    const { code, stdout } = await world.run(["logout", "notes", "--trust", "--json"]);
    const report = JSON.parse(stdout);
    expect(report.wiped).toMatchObject([{ refreshToken: { kind: "failed" }, accessToken: { kind: "failed" } }]);
    expect(code).toBe(1);
    expect(JSON.parse((await world.run(["auth", "--json", "--trust"])).stdout).servers.notes.oauth.isSignedIn).toBe(
      false,
    );
  });
});
