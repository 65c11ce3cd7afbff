import { describe, expect, test } from "vitest";
import { createBrowser } from "./browser.test.helper.js";
import type { Run, TerminalUser } from "./command.test.helper.js";
import { browsingPerson, createLoginWorld, type LoginWorld, urlPrintedIn } from "./login-world.test.helper.js";
import { runGateway } from "./running-command.test.helper.js";

/** A person signs in with the forms of a real authorization server. */
function login(world: LoginWorld, ...more: string[]): Promise<Run> {
  return world.run(["login", "notes", "--trust", ...more], { person: browsingPerson() });
}

const call = ["call", "notes", "read", "--trust"];
const nobodySignedIn =
  /refused the request\. 401 Unauthorized: sign-in required\. Sign in with: wirescope login notes --config \S+\n$/;

describe("a sign-in", () => {
  test("[TS-OAUTH-3] [TS-OAUTH-4] [TS-OAUTH-9] shows the requested scopes, and then the name of the server", async () => {
    const world = await createLoginWorld({ hasForms: true });
    const { code, stdout, stderr } = await login(world);
    expect(code).toBe(0);
    const { issuer } = world.authorization;
    expect(stderr).toContain(`Sign in to notes with ${issuer}, as requested.\n`);
    expect(stderr).toContain("Requested scopes:\n  notes:read\n  offline_access\nTokens are stored in ");
    expect(stdout).toBe(`Signed in to notes with ${issuer}.\nScopes: notes:read.\nConnected to notes: notes 3.1.0\n`);
  });

  test.each([false, true])(
    "says at the terminal that a response with another state was rejected, and continues (with a gateway: %s)",
    async (hasGateway) => {
      const world = await createLoginWorld();
      if (hasGateway) await runGateway(["--trust", ...world.shared], { env: world.env });
      const browse = browsingPerson();
      const pages: number[] = [];
      const person: TerminalUser = async (question, stderr, signal) => {
        if (question.includes("browser") || question.includes("paste")) {
          const callback = new URL(urlPrintedIn(stderr)).searchParams.get("redirect_uri");
          // The redirect of an older tab, which is reloaded.
          for (const code of ["a", "b"])
            pages.push((await fetch(`${callback}?state=of-an-older-page&code=${code}`)).status);
        }
        return browse(question, stderr, signal);
      };
      const argv = ["login", "notes", ...(hasGateway ? [] : ["--trust"])];
      const { code, stderr } = await world.run(argv, { person });
      expect({ code, pages }).toEqual({ code: 0, pages: [400, 400] });
      expect(stderr.match(/^Rejected a response that does not belong to this sign-in/gm)).toHaveLength(1);
      expect(stderr).not.toContain("of-an-older-page");
    },
  );

  test("[TS-OAUTH-5] leaves its tokens encrypted, and other processes use them without asking", async () => {
    const world = await createLoginWorld();
    await login(world);
    expect(world.authorization.issued.length).toBeGreaterThanOrEqual(2);
    expect(world.filesWith(world.authorization.issued)).toEqual([]);
    expect(world.filesWith([world.env.WIRESCOPE_VAULT_KEY ?? ""])).toEqual([]);
    expect(await world.spawn(call)).toEqual({ code: 0, stdout: "milk, eggs\n", stderr: "" });
    // A server that is known to be signed in gets no request for its challenge first.
    expect(world.tool.refusals).toBe(1);
    expect(world.authorization.count("/auth")).toBe(1);
  });

  test("[TS-FIELD-3] signs in to the URL with its variables replaced, and sends its tokens to no other origin", async () => {
    const world = await createLoginWorld();
    world.configure({ notes: { type: "http", url: "${NOTES_URL}/mcp" } });
    const { origin } = new URL(world.tool.url);
    const at = (url: string) => ({ person: browsingPerson(), env: { NOTES_URL: url } });
    expect((await world.run(["login", "notes", "--trust"], at(origin))).code).toBe(0);
    // The authorization server issues tokens only for the resource that it knows.
    expect((await world.run(call, { env: { NOTES_URL: origin } })).stdout).toBe("milk, eggs\n");
    const other = await world.run(call, { env: { NOTES_URL: origin.replace("127.0.0.1", "localhost") } });
    expect([other.code, other.stderr]).toEqual([1, expect.stringMatching(nobodySignedIn)]);
  });

  test("shows in auth the issuer, the permissions and the expiry, and never a token", async () => {
    const world = await createLoginWorld();
    expect((await world.run(["auth", "--trust"])).stdout).toMatch(/^notes +not signed in +- +- +- +- +-$/m);
    await login(world, "--scope", "openid");
    const { issuer } = world.authorization;
    const { stdout } = await world.run(["auth", "--trust"]);
    expect(stdout).toMatch(/^Tokens are stored in .*, encrypted with AES-256-GCM; the key is read from the variable/);
    expect(stdout).toMatch(/^SERVER +SIGN-IN +ACCOUNT +EXPIRES +OBTAINED +SCOPES +ISSUER$/m);
    expect(stdout).toMatch(/^notes +signed in +ada +in 59 min +(just now|\d+ s ago) +notes:read/m);
    expect(stdout).toContain(issuer);
    const one = await world.run(["auth", "notes", "--trust"]);
    expect(one.stdout).toMatch(/^account +ada$/m);
    expect(one.stdout).toMatch(/^expires +in 59 min \(20.*Z\)$/m);
    expect(one.stdout).toMatch(/^refresh token +yes$/m);
    const { servers, vault } = JSON.parse((await world.run(["auth", "--json", "--trust"])).stdout);
    expect(vault.kind).toBe("file");
    // Every part of the output agrees on the sign-in.
    expect(servers.notes.credential).toEqual({ kind: "oauth", summary: `OAuth, signed in with ${issuer}` });
    expect(servers.notes.oauth).toMatchObject({ isSignedIn: true, account: "ada", issuer, canRefresh: true });
  });

  test("prints one object with --json, and text for people to standard error", async () => {
    const world = await createLoginWorld();
    const { stdout } = await login(world, "--json");
    expect(JSON.parse(stdout)).toMatchObject({ server: "notes", isSignedIn: true, serverInfo: { name: "notes" } });
  });

  test("[TS-DIAG-1] logs each step with --debug, without secrets", async () => {
    const world = await createLoginWorld();
    const { stderr } = await login(world, "--debug");
    for (const step of [
      "The authorization server is",
      "Registered a client",
      "Asking the user to sign in",
      "Signed in",
    ]) {
      expect(stderr).toContain(step);
    }
    expect(stderr).not.toMatch(/code_verifier|[?&]code=/);
  });

  test("starts a sign-in at the first use in a terminal, after the approval, and continues the call", async () => {
    const world = await createLoginWorld({ hasForms: true });
    const { code, stdout, stderr } = await world.run(["tools", "notes"], { person: browsingPerson() });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^notes +read +Reads a note\.$/m);
    expect(stderr).toContain("because there is no sign-in yet.");
    expect(await world.run(["call", "notes", "read"])).toMatchObject({ code: 0, stdout: "milk, eggs\n" });
  });

  test("runs the sign-ins of two servers one after the other", async () => {
    const world = await createLoginWorld();
    const url = world.tool.url;
    world.configure({ notes: { type: "http", url }, diary: { type: "http", url } });
    const questions: AbortSignal[] = [];
    let isMixed = false;
    const browse = browsingPerson();
    const { code, stderr } = await world.run(["tools", "--trust"], {
      async person(question, printed, signal) {
        // A question ends when its signal aborts.
        isMixed ||= questions.some(({ aborted }) => !aborted);
        questions.push(signal);
        // The other one is about to ask as well, and has a moment to do it too early.
        await expect.poll(() => world.authorization.count("/reg")).toBe(2);
        await new Promise((resolve) => setTimeout(resolve, 100));
        return browse(question, printed, signal);
      },
    });
    expect({ isMixed, questions: questions.length }).toEqual({ isMixed: false, questions: 2 });
    expect(code).toBe(0);
    expect(stderr.match(/^Sign in to (notes|diary) with/gm)).toHaveLength(2);
  });

  test("[TS-D-OAUTH-2] starts no sign-in without a terminal, and names the command to run", async () => {
    const world = await createLoginWorld();
    const { code, stderr } = await world.spawn(call);
    expect(code).toBe(1);
    expect(stderr).toMatch(nobodySignedIn);
    expect(JSON.parse((await world.run(["tools", "--json", "--trust"])).stdout).notes.error.code).toBe(
      "SIGN_IN_NEEDED",
    );
    expect(world.authorization.count("/reg")).toBe(0);
  });

  test("refuses to sign in to a server that has its own credential", async () => {
    const world = await createLoginWorld();
    world.configure({
      notes: { type: "http", url: world.tool.url, headers: { Authorization: "Bearer ${NOTES_TOKEN}" } },
    });
    for (const verb of ["login", "logout"]) {
      const env = { NOTES_TOKEN: "a-token-of-my-own" };
      expect(await world.run([verb, "notes", "--trust"], { env })).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("notes has its own credential"),
      });
    }
  });

  test("refuses to sign in to a stdio server, and does not claim that it has a credential", async () => {
    const world = await createLoginWorld();
    world.configure({ files: { command: process.execPath, args: ["-e", "0"] } });
    for (const verb of ["login", "logout"]) {
      const { code, stderr } = await world.run([verb, "files", "--trust"]);
      expect(code).toBe(2);
      expect(stderr).toContain("files is of type stdio, which does not use OAuth.");
    }
  });
});

test("confirms the sign-in on the last page, which shows no secret that a peer sent", async () => {
  const world = await createLoginWorld({ hasForms: true });
  const browser = createBrowser();
  const pages: string[] = [];
  const person = browsingPerson({
    ...browser,
    async signIn(url) {
      const page = await browser.signIn(url);
      pages.push(page.html);
      return page;
    },
  });
  await world.run(["login", "notes", "--trust"], { person });
  expect(pages[0]).toContain("<h1>Signed in to notes</h1>");
  expect(pages[0]).not.toMatch(/<script|code=|state=/);
});
