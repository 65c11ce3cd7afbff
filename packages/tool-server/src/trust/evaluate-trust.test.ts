import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir, rename, symlink, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Entry } from "../config/entry.js";
import { approvalKey } from "./approval.js";
import { type ApprovalStore, createApprovalStore } from "./approval-store.js";
import { evaluateTrust, notTrusted, renderDistrust, type TrustDecision, type TrustQuestion } from "./evaluate-trust.js";
import { fingerprintEntry } from "./fingerprint-entry.js";
import { parsePolicy } from "./policy.js";
import { renderDiff } from "./render-approval.js";
import { createFolder, entryOf, type TestFolder } from "./trust.test.helper.js";

interface Project extends TestFolder {
  readonly store: ApprovalStore;
  evaluate(entry: Entry, more?: Partial<TrustQuestion>): Promise<TrustDecision>;
  approve(entry: Entry): Promise<void>;
}

async function createProject(): Promise<Project> {
  const [folder, home] = [await createFolder(), await createFolder()];
  await folder.write(".mcp.json", "{}");
  const store = createApprovalStore({ path: join(home.path, "approvals.json") });
  const configurationPath = join(folder.path, ".mcp.json");
  const evaluate: Project["evaluate"] = (entry, more) =>
    evaluateTrust({
      entry,
      configurationPath,
      pluginRoot: folder.path,
      variables: {},
      store,
      policy: undefined,
      ...more,
    });
  return {
    ...folder,
    store,
    evaluate,
    async approve(entry) {
      const decision = await evaluate(entry);
      if (decision.state !== "new" && decision.state !== "changed") throw new Error(decision.state);
      await store.approve(decision.subject);
    },
  };
}

function policyOf(value: object): TrustQuestion["policy"] {
  const { policy, problems } = parsePolicy(JSON.stringify({ version: 1, ...value }), "/etc/wirescope/policy.json");
  expect(problems).toEqual([]);
  return policy;
}

const server = entryOf({ command: "node", args: ["${HOST_PLUGIN_ROOT}/server.js"], env: { TOKEN: "${TOKEN}" } });

/** The decision in one word, with its reason. */
function inShort(decision: TrustDecision): string {
  if (decision.state === "trusted") return `trusted by ${decision.by}`;
  return decision.state === "denied" ? `denied by ${decision.rule.kind}` : decision.state;
}

describe("an approval", () => {
  test("[TS-D-TRUST-1] requires one approval; then the entry is trusted until it changes (CVE-2025-54136, CVE-2025-54133)", async () => {
    const { write, evaluate, approve } = await createProject();
    await write("server.js", "serve()");
    const first = await evaluate(server);
    expect(first).toMatchObject({ state: "new", approval: { server: "s", files: [{ path: "server.js" }] } });
    await approve(server);
    expect(await evaluate(server)).toMatchObject({ state: "trusted", by: "approval" });
    await write("server.js", "steal()");
    const changed = await evaluate(server);
    expect(changed.state).toBe("changed");
    if (changed.state !== "changed") return;
    expect(renderDiff(changed.diff)[0]).toBe('args[0]: the file "server.js" has changed');
    await approve(server);
    expect(inShort(await evaluate(server))).toBe("trusted by approval");
  });

  test("[TS-D-TRUST-1] does not extend an approval to another command, argument, variable or name", async () => {
    const { evaluate, approve } = await createProject();
    await approve(server);
    const other = (more: object): Entry => entryOf({ ...Object(server.written), ...more });
    expect(inShort(await evaluate(other({})))).toBe("trusted by approval");
    expect(inShort(await evaluate(other({ command: "deno" })))).toBe("changed");
    expect(inShort(await evaluate(other({ args: ["${HOST_PLUGIN_ROOT}/server.js", "--more"] })))).toBe("changed");
    expect(inShort(await evaluate(other({ env: { TOKEN: "${AWS_SECRET_ACCESS_KEY}" } })))).toBe("changed");
    expect(inShort(await evaluate(other({ unknown: 1 })))).toBe("changed");
    expect(inShort(await evaluate(entryOf(server.written, "t")))).toBe("new");
  });

  test("[TS-D-TRUST-2] warns if the approval does not cover the code that a program runs", async () => {
    const { evaluate, write } = await createProject();
    const noticesOf = async (command: string, ...args: string[]): Promise<readonly string[]> => {
      const decision = await evaluate(entryOf({ command, args }));
      return decision.state === "new" ? decision.approval.notices : [];
    };
    const notice = "This approval does not cover the code that node runs.";
    expect(await noticesOf("node", "server")).toEqual([notice]);
    expect(await noticesOf("python3", "-m", "app")).toEqual([notice.replace("node", "python3")]);
    await write("server.js", "serve()");
    expect(await noticesOf("node", "server.js")).toEqual([]);
    expect(await noticesOf("acme-server", "server.js")).toEqual([notice.replace("node", "acme-server")]);
  });

  test("[TS-D-TRUST-4] applies an approval to one configuration file, whatever link is used to open it", async () => {
    const { path, evaluate, approve, write } = await createProject();
    await approve(server);
    await symlink(join(path, ".mcp.json"), join(path, "link.json"));
    expect(inShort(await evaluate(server, { configurationPath: join(path, "link.json") }))).toBe("trusted by approval");
    const other = await write("other.json", "{}");
    expect(inShort(await evaluate(server, { configurationPath: other }))).toBe("new");
    await expect(evaluate(server, { configurationPath: join(path, "gone.json") })).rejects.toMatchObject({
      code: "CONFIGURATION_UNREADABLE",
    });
  });

  test("applies an approval to one plugin root, whatever link is used to open it", async () => {
    const { path, evaluate, approve } = await createProject();
    const elsewhere = await createFolder();
    await approve(server);
    await symlink(path, join(elsewhere.path, "link"));
    expect(inShort(await evaluate(server, { pluginRoot: join(elsewhere.path, "link") }))).toBe("trusted by approval");
    expect(inShort(await evaluate(server, { pluginRoot: elsewhere.path }))).toBe("changed");
  });

  test("[TS-D-TRUST-1] approves what was shown, not later changes", async () => {
    const { write, evaluate, store } = await createProject();
    await write("server.js", "serve()");
    const shown = await evaluate(server);
    await write("server.js", "steal()");
    if (shown.state !== "new") throw new Error(shown.state);
    await store.approve(shown.subject);
    expect(inShort(await evaluate(server))).toBe("changed");
  });

  test("[TS-D-TRUST-3] does not reuse an approval if a part cannot be checked", async () => {
    const { evaluate, approve } = await createProject();
    const open = entryOf({ command: "${PWD}/server.sh" });
    await approve(open);
    expect(inShort(await evaluate(open))).toBe("changed");
  });

  test("[TS-D-TRUST-5] does not skip the approval if the approvals file cannot be read", async () => {
    const { evaluate, approve, store } = await createProject();
    await approve(server);
    await writeFile(store.path, "{");
    await expect(evaluate(server)).rejects.toMatchObject({ code: "APPROVALS_UNREADABLE" });
  });
});

describe("an approval of a url with variables", () => {
  const open = entryOf({
    type: "http",
    url: "https://${API_HOST}/mcp",
    headers: { Authorization: "Bearer ${API_TOKEN}" },
  });
  const at = (host: string): Pick<TrustQuestion, "variables"> => ({
    variables: { API_HOST: host, API_TOKEN: "t0ken-of-me" },
  });

  test("[TS-D-TRUST-10] shows and approves the origin, and a change of origin requires approval again", async () => {
    const { evaluate, store } = await createProject();
    const first = await evaluate(open, at("api.example.com"));
    if (first.state !== "new") throw new Error(first.state);
    expect(renderDistrust("s", first)).toContain("  origin    https://api.example.com");
    expect(first.approval.notices).toEqual([
      "Your API_HOST decides which host the url points to, and so who receives the requests.",
    ]);
    await store.approve(first.subject);
    expect(inShort(await evaluate(open, at("api.example.com")))).toBe("trusted by approval");
    expect(inShort(await evaluate(open, at("API.example.com:443")))).toBe("trusted by approval");
    for (const host of [
      "evil.example",
      "api.example.com.evil.example",
      "api.example.com:8443",
      "xn--pi-7lc.example.com",
    ]) {
      const changed = await evaluate(open, at(host));
      if (changed.state !== "changed") throw new Error(changed.state);
      expect(renderDiff(changed.diff)).toEqual(["origin", "  - https://api.example.com", `  + https://${host}`]);
      expect(notTrusted("s", changed).message).toContain("wirescope trust s, with the same variables and --env-file.");
    }
    const digests = ["api.example.com", "evil.example"].map(async (host) => {
      const { digest } = await fingerprintEntry(open, { pluginRoot: "/nowhere", ...at(host) });
      return digest;
    });
    expect(new Set(await Promise.all(digests)).size).toBe(2);
  });

  test("[TS-D-TRUST-10] approves scheme and host of a variable that contains the whole origin", async () => {
    const { evaluate, store } = await createProject();
    const entry = entryOf({ type: "http", url: "${API_URL}/mcp" });
    const to = (url: string): Pick<TrustQuestion, "variables"> => ({ variables: { API_URL: url } });
    const first = await evaluate(entry, to("https://api.example.com/v1"));
    if (first.state !== "new") throw new Error(first.state);
    await store.approve(first.subject);
    expect(inShort(await evaluate(entry, to("https://api.example.com/v2")))).toBe("trusted by approval");
    expect(inShort(await evaluate(entry, to("http://localhost:1")))).toBe("changed");
    expect(inShort(await evaluate(entry, to("https://api.example.net")))).toBe("changed");
  });

  test("[TS-D-TRUST-10] stores an approval per origin until the entry or a file changes", async () => {
    const { evaluate, store } = await createProject();
    const approve = async (entry: Entry, host: string): Promise<void> => {
      const decision = await evaluate(entry, at(host));
      if (!("subject" in decision)) throw new Error(decision.state);
      await store.approve(decision.subject);
    };
    await approve(open, "dev.example.com");
    await approve(open, "prod.example.com");
    for (const host of ["dev.example.com", "prod.example.com"]) {
      expect(inShort(await evaluate(open, at(host)))).toBe("trusted by approval");
    }
    const other = entryOf({ type: "http", url: "https://${API_HOST}/other" });
    await approve(other, "prod.example.com");
    expect(inShort(await evaluate(open, at("dev.example.com")))).toBe("changed");
    expect(await store.list()).toHaveLength(1);
    await approve(open, "prod.example.com");
    await approve(open, "dev.example.com");
    await store.revoke(await approvalKey((await store.list())[0]?.configuration ?? "", "s"));
    expect(await store.list()).toEqual([]);
  });

  test("[TS-D-TRUST-10] refuses an approval while a variable cannot be used, without showing its value", async () => {
    const { evaluate, store } = await createProject();
    const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    for (const variables of [{}, { API_HOST: secret }, { API_HOST: "t0ken-of-me", API_TOKEN: "t0ken-of-me" }]) {
      const decision = await evaluate(open, { variables });
      if (decision.state !== "new") throw new Error(decision.state);
      const lines = renderDistrust("s", decision).join("\n");
      expect(lines).toContain("  origin    https://${API_HOST}\n");
      expect(lines).toContain("! The origin of the url is not known, so approval will be required again.");
      expect(JSON.stringify(decision)).not.toMatch(/ghp_|t0ken/);
    }
    const unset = await evaluate(open, { variables: {} });
    if (unset.state !== "new") throw new Error(unset.state);
    await store.approve(unset.subject);
    expect(inShort(await evaluate(open, at("evil.example")))).toBe("changed");
  });

  test("[TS-D-TRUST-7, TS-D-TRUST-10] matches an entry by its origin in a policy, or by all possible origins if it is unknown", async () => {
    const { evaluate } = await createProject();
    const policy = policyOf({ allow: [{ url: "https://*.example.com" }], deny: [{ url: "https://*.example.org" }] });
    const checked = async (host: string | undefined): Promise<string> =>
      inShort(await evaluate(open, { policy, variables: { API_HOST: host } }));
    expect(await checked("api.example.com")).toBe("trusted by policy");
    expect(await checked("api.example.net")).toBe("new");
    expect(await checked("a.example.org")).toBe("denied by deny");
    expect(await checked("api.example.com:8443")).toBe("new");
    expect(await checked(undefined)).toBe("denied by deny");
  });

  test("stores no origin for an entry without variables in its origin", async () => {
    const entry = entryOf({ type: "http", url: "https://a.example.com/${PATH_PART}" });
    const plain = await fingerprintEntry(entry, { pluginRoot: "/nowhere" });
    expect(await fingerprintEntry(entry, { pluginRoot: "/nowhere", variables: { PATH_PART: "x" } })).toEqual(plain);
    expect(plain).not.toHaveProperty("origin");
  });
});

test("[TS-D-TRUST-1] runs nothing, connects to nothing and reads only the variables of the origin (CVE-2025-65099, CVE-2026-21852)", async () => {
  const { path, write, evaluate, approve } = await createProject();
  let connections = 0;
  const listener = createServer(() => {
    connections += 1;
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void listener.close());
  const { port } = listener.address() as AddressInfo;
  await write("run.sh", `#!/bin/sh\ntouch ${path}/ran\n`, 0o755);
  const entries = [
    entryOf({ command: "${HOST_PLUGIN_ROOT}/run.sh", args: ["${SECRET}", "$(touch ran)"], env: { A: "${SECRET}" } }),
    entryOf({ type: "http", url: `http://127.0.0.1:${port}/\${SECRET}`, headersHelper: "run.sh" }, "t"),
    entryOf({ type: "ws", url: `ws://127.0.0.1:${port}`, headers: { "X-A": "${SECRET}" } }, "u"),
  ];
  const variables = { SECRET: "value-of-the-secret" };
  for (const entry of entries) {
    const decision = await evaluate(entry, { variables });
    expect(decision.state).toBe("new");
    expect(JSON.stringify(decision)).not.toContain("value-of-the-secret");
    await approve(entry);
    await evaluate(entry);
    await evaluate(entry, { variables, mode: "flag" });
  }
  // A connection that was started would be visible after another one that is made now.
  const own = connect(port, "127.0.0.1");
  onTestFinished(() => void own.destroy());
  await once(listener, "connection");
  expect(connections).toBe(1);
  expect(existsSync(join(path, "ran"))).toBe(false);
  expect(await readdir(path)).toEqual([".mcp.json", "run.sh"]);
});

describe("--trust", () => {
  test("[TS-D-TRUST-9] trusts with --trust for this run and stores nothing", async () => {
    const { evaluate, store } = await createProject();
    expect(inShort(await evaluate(server, { mode: "flag" }))).toBe("trusted by flag");
    expect(existsSync(store.path)).toBe(false);
    expect(inShort(await evaluate(server))).toBe("new");
  });

  test("[TS-D-TRUST-9] ignores --trust if the policy forbids it, unless the entry is approved or allowed anyway", async () => {
    const { path, evaluate, approve } = await createProject();
    const policy = policyOf({ allowTrustFlag: false });
    expect(inShort(await evaluate(server, { mode: "flag", policy }))).toBe("denied by trust-flag");
    expect(inShort(await evaluate(server, { policy }))).toBe("new");
    const { digest } = await fingerprintEntry(server, { pluginRoot: path });
    const allowing = policyOf({ allowTrustFlag: false, allow: [{ fingerprint: digest }] });
    expect(inShort(await evaluate(server, { mode: "flag", policy: allowing }))).toBe("trusted by policy");
    await approve(server);
    expect(inShort(await evaluate(server, { mode: "flag", policy }))).toBe("trusted by approval");
  });

  test("[TS-D-TRUST-9] does not override a rule that denies with --trust", async () => {
    const { evaluate } = await createProject();
    expect(inShort(await evaluate(server, { mode: "flag", policy: policyOf({ deny: [{ command: "node" }] }) }))).toBe(
      "denied by deny",
    );
    expect(inShort(await evaluate(server, { mode: "flag", policy: policyOf({ others: "deny" }) }))).toBe(
      "denied by others",
    );
  });
});

describe("a policy", () => {
  const mail = entryOf({ type: "http", url: "https://mail.example.com/mcp" });
  const npx = entryOf({ command: "npx", args: ["-y", "@acme/server", "--more"], env: { TOKEN: "${TOKEN}" } });
  const npxRuleEntry = entryOf({ command: "npx", args: ["-y", "@acme/server"] });
  const npxRule = { command: "npx", args: ["-y", "@acme/server"], env: ["TOKEN"] };

  test.each([
    ["an entry by its origin", mail, { url: "https://*.example.com" }],
    [
      "an entry with OAuth settings that keep all protections",
      entryOf({ ...Object(mail.written), oauth: { clientId: "3f0c", assumePkce: false } }),
      { url: "https://*.example.com" },
    ],
    ["an entry by its command", npx, npxRule],
    [
      "a server without the sandbox if the rule says so",
      entryOf({ ...Object(npx.written), sandbox: false }),
      { ...npxRule, sandbox: false },
    ],
    [
      "a helper without the sandbox if the rule says so",
      entryOf({ ...Object(mail.written), headersHelper: "./x.sh", sandbox: false }),
      { url: "https://*.example.com", helper: true, sandbox: false },
    ],
    [
      "a program in PATH with arguments that are no files",
      entryOf({ command: "acme-server", args: ["--mode", "fast", "."] }),
      { command: "acme-server", args: ["--mode"] },
    ],
  ])("[TS-D-TRUST-7] allows %s without an approval", async (_, entry, rule) => {
    const { evaluate } = await createProject();
    expect(inShort(await evaluate(entry, { policy: policyOf({ allow: [rule] }) }))).toBe("trusted by policy");
  });

  test.each([
    ["another origin", mail, { url: "https://*.example.org" }],
    [
      "a helper that the rule does not mention",
      entryOf({ ...Object(mail.written), headersHelper: "x.sh" }),
      { url: "https://*.example.com" },
    ],
    [
      "a host that a variable may make another",
      entryOf({ type: "http", url: "https://${A}.example.com" }),
      { url: "https://mail.example.com" },
    ],
    ["other arguments", npx, { ...npxRule, args: ["-y", "@acme/other"] }],
    ["fewer arguments", entryOf({ command: "npx", args: ["-y"] }), npxRule],
    ["a variable of the process that the rule does not name", npx, { ...npxRule, env: [] }],
    ["a file with variables of the process", entryOf({ ...Object(npx.written), envFile: ".env" }), npxRule],
    ["another working directory", entryOf({ ...Object(npx.written), cwd: "sub" }), npxRule],
    ["a script that does not exist yet", entryOf({ command: "node", args: ["./x.js"] }), { command: "node" }],
    ["a path that only ends like the command", entryOf({ command: "./npx", args: ["-y", "@acme/server"] }), npxRule],
    ["a command that a variable decides", entryOf({ command: "${A:-npx}", args: ["-y", "@acme/server"] }), npxRule],
    ["all but one of what a rule names", mail, { url: "https://mail.example.com", configuration: "/nowhere" }],
    [
      "a server without the sandbox by a rule for commands",
      entryOf({ ...Object(npx.written), sandbox: false }),
      npxRule,
    ],
    [
      "a server without the sandbox by a rule for paths",
      entryOf({ ...Object(npx.written), sandbox: false }),
      { configuration: "/" },
    ],
    [
      "a helper without the sandbox by a rule that only mentions the helper",
      entryOf({ ...Object(mail.written), headersHelper: "./x.sh", sandbox: false }),
      { url: "https://*.example.com", helper: true },
    ],
    [
      "an entry that leaves the resource out of its OAuth requests",
      entryOf({ ...Object(mail.written), oauth: { resource: false } }),
      { url: "https://*.example.com" },
    ],
    [
      "an entry that assumes PKCE",
      entryOf({ ...Object(mail.written), oauth: { assumePkce: true } }),
      { url: "https://*.example.com" },
    ],
    ["a process by a rule for origins", npx, { url: "https://*" }],
    ["a network server by a rule for commands", mail, npxRule],
  ])("[TS-D-TRUST-7, TS-D-OAUTH-8] does not allow %s", async (_, entry, rule) => {
    const { evaluate } = await createProject();
    expect(inShort(await evaluate(entry, { policy: policyOf({ allow: [rule] }) }))).toBe("new");
  });

  test.each([
    ["a script", { command: "node", args: ["${HOST_PLUGIN_ROOT}/server.js"] }, "server.js"],
    ["a script by a shorter name", { command: "node", args: ["server"] }, "server.js"],
    ["a program", { command: "./server.sh", args: [] }, "server.sh"],
    ["a module", { command: "python3", args: ["-m", "app"] }, "app.py"],
    ["an additional argument", { command: "npx", args: ["-y", "@acme/server", "./hook.js"] }, "hook.js"],
    ["a manifest", { command: "make", args: ["serve"] }, "Makefile"],
    ["settings", { command: "npx", args: ["-y", "@acme/server"] }, ".npmrc"],
  ])("[TS-D-TRUST-7] does not allow a command if %s of the project decides what it runs", async (_, entry, file) => {
    const { path, evaluate, approve, write } = await createProject();
    await write(file, "{}");
    const [subject, rule] = [entryOf(entry), { command: entry.command, args: entry.args.slice(0, 2) }];
    const { digest } = await fingerprintEntry(subject, { pluginRoot: path });
    const policy = policyOf({ allow: [rule] });
    const asked = await evaluate(subject, { policy });
    if (asked.state !== "new") throw new Error(asked.state);
    expect(asked.approval.notices[0]).toBe(
      "The policy /etc/wirescope/policy.json allows this command on line 1, but files of the project decide what it runs, so it needs an " +
        `approval. A rule that allows it with these files needs the fingerprint ${digest}.`,
    );
    const denied = await evaluate(subject, { policy: policyOf({ others: "deny", allow: [rule] }) });
    if (denied.state !== "denied") throw new Error(denied.state);
    expect(notTrusted("s", denied).message).toBe(
      'Server "s" is not allowed: the policy /etc/wirescope/policy.json allows its command on line 1, but files of the project decide what ' +
        `it runs: "${file}". Remove these files, or ask the owner of the policy for a rule with the fingerprint ${digest}.`,
    );
    const exact = policyOf({ others: "deny", allow: [{ ...rule, fingerprint: digest }] });
    expect(inShort(await evaluate(subject, { policy: exact }))).toBe("trusted by policy");
    await approve(subject);
    expect(inShort(await evaluate(subject, { policy }))).toBe("trusted by approval");
  });

  test("[TS-D-TRUST-7] does not allow npx in a project with installed packages, which it prefers to the published ones", async () => {
    const { evaluate, write } = await createProject();
    const policy = policyOf({ allow: [{ command: "npx", args: ["-y", "@acme/server"] }] });
    expect(inShort(await evaluate(npxRuleEntry, { policy }))).toBe("trusted by policy");
    await write("node_modules/harmless/package.json", JSON.stringify({ name: "@acme/server" }));
    expect(inShort(await evaluate(npxRuleEntry, { policy }))).toBe("new");
  });

  test("[TS-D-TRUST-7] can deny code that an approval does not cover, unless a rule allows its command", async () => {
    const { evaluate, approve, write } = await createProject();
    await write("server.js", "serve()");
    const policy = policyOf({ uncoveredCode: "deny", allow: [{ command: "npx", args: ["-y", "@acme/server"] }] });
    const make = entryOf({ command: "make", args: ["serve"] });
    await approve(make);
    const denied = await evaluate(make, { policy });
    if (denied.state !== "denied") throw new Error(denied.state);
    expect(notTrusted("s", denied).message).toBe(
      'Server "s" is not allowed: the policy /etc/wirescope/policy.json denies servers with code that an approval does not cover: the code ' +
        "that make runs. Start a file of the project, or ask the owner of the policy to allow the command.",
    );
    expect(inShort(await evaluate(make, { policy, mode: "flag" }))).toBe("denied by uncovered");
    expect(inShort(await evaluate(entryOf({ command: "node", args: ["server.js"] }), { policy }))).toBe("changed");
    expect(inShort(await evaluate(npxRuleEntry, { policy }))).toBe("trusted by policy");
  });

  test("[TS-D-TRUST-7] allows a helper if the rule says so", async () => {
    const { evaluate } = await createProject();
    const entry = entryOf({ ...Object(mail.written), headersHelper: "x.sh" });
    const policy = policyOf({ allow: [{ url: "https://mail.example.com", helper: true }] });
    expect(inShort(await evaluate(entry, { policy }))).toBe("trusted by policy");
  });

  test("[TS-D-TRUST-7] allows and denies by fingerprint: this entry with these files", async () => {
    const { path, write, evaluate } = await createProject();
    await write("server.js", "serve()");
    const { digest } = await fingerprintEntry(server, { pluginRoot: path });
    const allow = policyOf({ allow: [{ fingerprint: digest }] });
    const deny = policyOf({ deny: [{ fingerprint: digest, reason: "Known to be bad." }] });
    expect(inShort(await evaluate(server, { policy: allow }))).toBe("trusted by policy");
    expect(inShort(await evaluate(server, { policy: deny }))).toBe("denied by deny");
    await write("server.js", "steal()");
    expect(inShort(await evaluate(server, { policy: allow }))).toBe("new");
    expect(inShort(await evaluate(server, { policy: deny }))).toBe("new");
    const open = entryOf({ command: "${PWD}/x" });
    const incomplete = await fingerprintEntry(open, { pluginRoot: path });
    const policy = policyOf({ allow: [{ fingerprint: incomplete.digest }] });
    expect(inShort(await evaluate(open, { policy }))).toBe("new");
  });

  test("[TS-D-TRUST-7] allows and denies by the path of the configuration, with links resolved", async () => {
    const { path, evaluate } = await createProject();
    const below = (folder: string, kind: "allow" | "deny"): Promise<TrustDecision> =>
      evaluate(mail, { policy: policyOf({ [kind]: [{ configuration: folder }] }) });
    expect(inShort(await below(path, "allow"))).toBe("trusted by policy");
    expect(inShort(await below(join(path, ".mcp.json"), "allow"))).toBe("trusted by policy");
    expect(inShort(await below(path.slice(0, -1), "allow"))).toBe("new");
    expect(inShort(await below(`${path}/`, "deny"))).toBe("denied by deny");
    const trap = await createFolder();
    await symlink(join(path, ".mcp.json"), join(trap.path, ".mcp.json"));
    const configurationPath = join(trap.path, ".mcp.json");
    const rule = [{ configuration: trap.path }];
    // A link in an allowed folder does not allow its target; a link in a denied folder is denied.
    expect(inShort(await evaluate(mail, { configurationPath, policy: policyOf({ allow: rule }) }))).toBe("new");
    expect(inShort(await evaluate(mail, { configurationPath, policy: policyOf({ deny: rule }) }))).toBe(
      "denied by deny",
    );
    await rename(path, `${path}-moved`);
    await symlink(`${path}-moved`, path);
    expect(inShort(await below(path, "allow"))).toBe("trusted by policy");
    await rename(`${path}-moved`, join(trap.path, "moved"));
  });

  test.each([
    [
      "an origin on every port",
      entryOf({ type: "http", url: "https://mail.example.com:8443" }),
      { url: "https://mail.example.com" },
    ],
    [
      "a host that a variable may make the denied one",
      entryOf({ type: "http", url: "https://${A}.example.com" }),
      { url: "https://mail.example.com" },
    ],
    [
      "an entry with a helper as well",
      entryOf({ ...Object(mail.written), headersHelper: "x.sh" }),
      { url: "https://*.example.com" },
    ],
    ["the name of a command", npx, { command: "npx" }],
    ["a path that ends with the name", entryOf({ command: "/usr/local/bin/npx" }), { command: "npx" }],
    ["the name of a path", npx, { command: "/usr/bin/npx" }],
    ["another way to write a path", entryOf({ command: "/usr/lib/../bin/npx" }), { command: "/usr/bin/npx" }],
    ["a command that a variable decides", entryOf({ command: "${A:-npx}" }), { command: "npx" }],
    ["a path that a variable starts", entryOf({ command: "${A}/bin/npx" }), { command: "/usr/bin/npx" }],
    ["a path that a variable ends", entryOf({ command: "/opt/${A}" }), { command: "npx" }],
    ["a path from the working directory", entryOf({ command: "bin/npx", cwd: "/usr" }), { command: "/usr/bin/npx" }],
    [
      "a path from a folder that a variable decides",
      entryOf({ command: "./npx", cwd: "${A}" }),
      { command: "/usr/bin/npx" },
    ],
    ["a command by its first arguments", npx, { command: "npx", args: ["-y", "@acme/server"] }],
    [
      "arguments that a variable may make the denied ones",
      entryOf({ command: "npx", args: ["-y", "@acme/${A}r"] }),
      { command: "npx", args: ["-y", "@acme/server"] },
    ],
  ])("[TS-D-TRUST-7] denies %s, and nothing overrides that", async (_, entry, rule) => {
    const { evaluate, approve } = await createProject();
    await approve(entry);
    const policy = policyOf({ deny: [rule], allow: [{ configuration: "/" }] });
    expect(inShort(await evaluate(entry, { policy }))).toBe("denied by deny");
    expect(inShort(await evaluate(entry, { policy, mode: "flag" }))).toBe("denied by deny");
  });

  test.each([
    ["another name", npx, { command: "np" }],
    ["another path of that name", entryOf({ command: "/opt/npx" }), { command: "/usr/bin/npx" }],
    [
      "a path from another working directory",
      entryOf({ command: "bin/npx", cwd: "/opt" }),
      { command: "/usr/bin/npx" },
    ],
    ["other arguments", npx, { command: "npx", args: ["-y", "@acme/other"] }],
    [
      "arguments that no variable makes the denied ones",
      entryOf({ command: "npx", args: ["@acme/${A}r"] }),
      { command: "npx", args: ["@acme/servers"] },
    ],
    [
      "two ends that would have to share letters",
      entryOf({ command: "npx", args: ["ab${A}ba"] }),
      { command: "npx", args: ["aba"] },
    ],
    ["a command that lacks the denied arguments", entryOf({ command: "npx" }), { command: "npx", args: ["-y"] }],
  ])("[TS-D-TRUST-7] does not deny %s", async (_, entry, rule) => {
    const { evaluate } = await createProject();
    expect(inShort(await evaluate(entry, { policy: policyOf({ deny: [rule] }) }))).toBe("new");
  });

  test("[TS-D-TRUST-7] can require an approval even for allowed entries, and can deny all others", async () => {
    const { evaluate, approve } = await createProject();
    const policy = policyOf({ requireApproval: "always", others: "deny", allow: [{ url: "https://*.example.com" }] });
    expect(inShort(await evaluate(mail, { policy }))).toBe("new");
    await approve(mail);
    expect(inShort(await evaluate(mail, { policy }))).toBe("trusted by approval");
    await approve(npx);
    expect(inShort(await evaluate(npx, { policy }))).toBe("denied by others");
  });
});

describe("the message about an entry that is not trusted", () => {
  const hostile = "\u001b[2Js\nApproved.";

  test("[TS-D-TRUST-2] formats the message as plain ASCII that ends with advice, with the code NOT_TRUSTED", async () => {
    const { evaluate, approve, write } = await createProject();
    const entry = entryOf({ command: "./x.sh" }, hostile);
    await write("x.sh", "1");
    const decisions = [await evaluate(entry)];
    await approve(entry);
    await write("x.sh", "2");
    decisions.push(await evaluate(entry));
    for (const policy of [
      policyOf({ deny: [{ command: "./x.sh", reason: "Ask Ada\u001b." }] }),
      policyOf({ others: "deny" }),
      policyOf({ allowTrustFlag: false }),
    ]) {
      decisions.push(await evaluate(entry, { policy, mode: "flag" }));
    }
    const errors = decisions.map((decision) => {
      if (decision.state === "trusted") throw new Error("trusted");
      const lines = renderDistrust(entry.name, decision);
      const error = notTrusted(entry.name, decision);
      for (const line of [...lines, error.message]) expect(line).toMatch(/^[\x20-\x7e]*$/);
      expect(error.code).toBe("NOT_TRUSTED");
      return error.message;
    });
    expect(errors).toEqual([
      expect.stringMatching(/pending approval.* approve it: wirescope trust .* Or pass --trust/),
      expect.stringMatching(/changed since approval \(1 change\).* approve it/),
      expect.stringMatching(/policy\.json denies it on line 1\. Reason: "Ask Ada\\u\{1b\}\."\. Ask the owner/),
      expect.stringMatching(/denies every server that it does not allow/),
      expect.stringMatching(/does not accept --trust/),
    ]);
  });

  test("[TS-D-TRUST-6] shows the changes before the current entry", async () => {
    const { evaluate, approve } = await createProject();
    await approve(entryOf({ command: "a" }));
    const decision = await evaluate(entryOf({ command: "b" }));
    if (decision.state !== "changed") throw new Error(decision.state);
    expect(renderDistrust("s", decision).slice(0, 5)).toEqual([
      'Server "s" has changed since approval:',
      "  command",
      '    - "a"',
      '    + "b"',
      expect.stringContaining("is a local program"),
    ]);
  });
});

test.each([
  ["headers", { type: "http", url: "https://a.example/mcp" }],
  ["env", { command: "node" }],
])(
  "[TS-D-SECRET-8] asks again if a secret command of %s changes, or its program in the project",
  async (field, base) => {
    const project = await createProject();
    await project.write("bin/secret.sh", "#!/bin/sh\necho a", 0o755);
    const withCommand = (...command: string[]): Entry => entryOf({ ...base, [field]: { TOKEN: { command } } });
    const entry = withCommand("./bin/secret.sh", "a");
    await project.approve(entry);
    expect(inShort(await project.evaluate(entry))).toBe("trusted by approval");
    expect(inShort(await project.evaluate(withCommand("./bin/secret.sh", "b")))).toBe("changed");
    await project.write("bin/secret.sh", "#!/bin/sh\necho b", 0o755);
    expect(inShort(await project.evaluate(entry))).toBe("changed");
  },
);

test("[TS-D-SECRET-8] a rule of a policy allows a secret command only if it allows a helper, or by fingerprint", async () => {
  const project = await createProject();
  const command = { command: ["op", "read", "x"] };
  const network = entryOf({ type: "http", url: "https://a.example/mcp", headers: { "X-Key": command } });
  const local = entryOf({ command: "node", env: { TOKEN: command } });
  const rules = (allow: object): TrustQuestion["policy"] => policyOf({ allow: [allow] });
  const stateOf = async (entry: Entry, allow: object): Promise<string> =>
    inShort(await project.evaluate(entry, { policy: rules(allow) }));
  expect(await stateOf(network, { url: "https://a.example" })).toBe("new");
  expect(await stateOf(network, { url: "https://a.example", helper: true })).toBe("trusted by policy");
  expect(await stateOf(local, { command: "node", env: ["TOKEN"] })).toBe("new");
});
