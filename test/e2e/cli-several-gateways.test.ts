import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createUserFolder, type Run, runCommand, type StartedGateway, startGateway } from "./command.test.helper.js";
import { workIn } from "./pasted-command.test.helper.js";

interface Project {
  up(): Promise<StartedGateway>;
  /** Runs a command in the folder of the project. */
  run(...argv: string[]): Promise<Run>;
}

/** Projects of one user, each with a server of another name. */
function createProjects(...servers: string[]): { readonly home: string; readonly projects: Project[] } {
  const { home } = createUserFolder();
  const env = { HOME: home, PATH: process.env.PATH ?? "" };
  const projects = servers.map((server): Project => {
    const { folder: cwd, configure } = createUserFolder();
    configure({ [server]: { command: "/nowhere/at-all" } });
    return {
      up: () => startGateway(["--port", "0", "--log", "off", "--trust"], { cwd, env }),
      run(...argv) {
        workIn(cwd);
        return runCommand(argv, { env });
      },
    };
  });
  return { home, projects };
}

test("commands find the gateway of their folder while another runs, and after that one was killed", async () => {
  const { home, projects } = createProjects("alpha", "beta");
  const [first, second] = projects;
  if (first === undefined || second === undefined) throw new TypeError("Two projects are needed.");
  const a = await first.up();
  const b = await second.up();
  for (const [project, server] of [
    [first, "alpha"],
    [second, "beta"],
  ] as const) {
    const { code, stdout } = await project.run("reload", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ servers: [server] });
  }
  // The last is the default.
  expect((await first.run("status", "--endpoint")).stdout).toMatch(/^beta /m);
  const both = await first.run(
    "channels",
    ...["--target", new URL(a.endpoint).host, "--target", new URL(b.endpoint).host],
    "--json",
  );
  expect(both).toMatchObject({ code: 0, stderr: "" });

  b.process.kill("SIGKILL");
  await b.ended;
  expect((await first.run("reload")).stdout).toContain("Servers: alpha.");
  expect((await first.run("status", "--endpoint")).stdout).toMatch(/^alpha /m);
  expect(await first.run("channels", "--json")).toMatchObject({ code: 0 });
  expect((await second.run("reload")).stderr).toContain("No gateway is running with this configuration.");

  a.process.kill("SIGTERM");
  await a.ended;
  expect(readdirSync(join(home, ".local/state/wirescope/gateways"))).toEqual([]);
});
