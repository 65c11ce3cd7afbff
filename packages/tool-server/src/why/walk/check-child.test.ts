import { access, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { channels } from "../../diagnostics.js";
import { createScriptFolder, isRunning } from "../../process/temporary-scripts.test.helper.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import { explainOptionsOf, trusted } from "../explain.test.helper.js";
import type { ExplainOptions } from "../explanation.js";
import { missingVariables } from "./check-child.js";
import { walkServer } from "./walk-server.js";

const walk = (entry: unknown, options: Partial<ExplainOptions> = {}) => walkServer(explainOptionsOf(entry, options));

/** A working server that first prints errors. */
const server = `
console.error("OTHER_KEY is not set; a-secret-of-mine");
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const result = method === "initialize"
    ? { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "child", version: "1" } }
    : method === "tools/list" ? { tools: [{ name: "one", inputSchema: { type: "object" } }] } : undefined;
  const outcome = result ? { result } : { error: { code: -32601, message: "no" } };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }));
});`;

describe("a process", () => {
  test("reports a process that works with its file and output, and no variable that its output names", async () => {
    const secrets = createSecretRegistry();
    secrets.add("a-secret-of-mine");
    const { child, attempt } = await walk({ command: process.execPath, args: ["-e", server] }, { secrets });
    expect(child).toEqual({
      command: process.execPath,
      args: ["-e", expect.stringContaining("readline")],
      cwd: process.cwd(),
      env: [],
      path: process.execPath,
      searched: [],
      notStarted: undefined,
      exit: undefined,
      stderr: ["OTHER_KEY is not set; [redacted]"],
      strayOutput: undefined,
      missing: [],
      withheld: [],
    });
    expect(attempt).toMatchObject({ connected: { name: "child", version: "1", tools: 1 }, failure: undefined });
  });

  test("ends a process that works", async () => {
    const script = `console.error(process.pid); process.on("SIGTERM", () => {}); ${server}; setInterval(() => {}, 1000);`;
    const { child, attempt } = await walk({ command: process.execPath, args: ["-e", script] }, { sandbox: false });
    const [pid = ""] = child?.stderr ?? [];
    expect(attempt?.connected).toBeDefined();
    expect(pid).toMatch(/^\d+$/);
    expect(isRunning(pid)).toBe(false);
  });

  test("reports a process that ends with its exit, output and the variable that it misses", async () => {
    const secrets = createSecretRegistry();
    secrets.add("a-secret-of-mine");
    const script = "console.log('Hello, a-secret-of-mine'); console.error('API_KEY is required'); process.exit(3)";
    const { child, attempt } = await walk({ command: process.execPath, args: ["-e", script] }, { secrets });
    expect(child).toMatchObject({
      notStarted: undefined,
      exit: { code: 3 },
      stderr: ["API_KEY is required"],
      strayOutput: expect.stringContaining("Hello, [redacted]"),
      missing: [{ variable: "API_KEY", isSetHere: false }],
    });
    expect(attempt).toMatchObject({ connected: undefined, failure: { code: "CHILD_EXITED" } });
  });

  test("reports a file that the system cannot start", async () => {
    const folder = await createScriptFolder();
    await writeFile(join(folder.path, "broken"), "#!/no/such/interpreter\n", { mode: 0o755 });
    const { child, attempt } = await walk({ command: join(folder.path, "broken") });
    expect(child).toMatchObject({ path: expect.stringContaining("broken"), notStarted: "not-started", stderr: [] });
    expect(attempt).toMatchObject({ failure: { code: "CHILD_NOT_RUNNABLE" } });
  });

  test("reports a command that does not exist with the folders that were searched", async () => {
    const variables = { PATH: "/opt/one:/opt/two" };
    const { child, attempt } = await walk({ command: "no-such-program" }, { variables });
    expect(child).toEqual({
      command: "no-such-program",
      args: [],
      cwd: process.cwd(),
      env: [],
      path: undefined,
      searched: ["/opt/one", "/opt/two"],
      notStarted: "not-found",
      stderr: [],
      strayOutput: undefined,
      missing: [],
      withheld: [],
    });
    expect(attempt).toBeUndefined();
  });

  test("runs no secret command for a process if the entry is no longer trusted", async () => {
    const folder = await createScriptFolder();
    await folder.sh(`touch ${folder.path}/ran; echo x`, "op");
    let asked = 0;
    const approval = { server: "api" };
    const evaluateTrust = async () => {
      asked += 1;
      // Once before the walk, once before the process is started.
      return asked >= 3 ? ({ state: "new", approval, subject: { fingerprint: { files: [] } } } as never) : trusted;
    };
    const env = { TOKEN: { command: ["./op"] } };
    const seen = await walk({ command: process.execPath, env }, { pluginRoot: folder.path, evaluateTrust });
    expect(seen.trust?.state).toBe("changed");
    await expect(access(join(folder.path, "ran"))).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("describes a process to observers, with its credential", async () => {
    const opened: { readonly name: string; readonly kind: string; credential(): { kind: string } }[] = [];
    const keep = (info: unknown): void => void opened.push(info as (typeof opened)[0]);
    channels["connection:opened"].subscribe(keep);
    onTestFinished(() => void channels["connection:opened"].unsubscribe(keep));
    await walk({ command: process.execPath, args: ["-e", server] });
    expect(opened).toMatchObject([{ name: "api", kind: "stdio", target: expect.any(String) }]);
    expect(opened[0]?.credential().kind).toEqual(expect.any(String));
  });
});

describe("a missing variable", () => {
  const find = (line: string, env = {}) => missingVariables([line], env, { SET_HERE: "x" });

  test("considers a variable missing only if a line says so and the entry does not pass it on", () => {
    expect(find("Please set SET_HERE and OTHER_KEY")).toEqual([
      { variable: "SET_HERE", isSetHere: true },
      { variable: "OTHER_KEY", isSetHere: false },
    ]);
    expect(find("OTHER_KEY is required", { OTHER_KEY: "" })).toEqual([]);
    expect(find("using OTHER_KEY")).toEqual([]);
    expect(find("Error [ERR_MODULE_NOT_FOUND]: not found")).toEqual([]);
    expect(find("E_NO_KEY: missing")).toEqual([]);
    expect(find("MY_E_KEY is missing")).toEqual([{ variable: "MY_E_KEY", isSetHere: false }]);
  });

  test("reports a missing variable once, and at most five variables", () => {
    expect(find("A_KEY and A_KEY are required")).toHaveLength(1);
    expect(find("A_K, B_K, C_K, D_K, E2_K, F_K are required")).toHaveLength(5);
  });
});
