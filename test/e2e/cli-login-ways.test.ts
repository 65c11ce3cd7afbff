import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createBrowser, enterDeviceCode } from "./browser.test.helper.js";
import { browsingPerson, createLoginWorld, type LoginWorld, pastingPerson } from "./login-world.test.helper.js";

const call = ["call", "notes", "read", "--trust"];

test("(21) accepts the pasted address of the browser over SSH, and starts no browser on this machine", async () => {
  const world = await createLoginWorld({ hasForms: true });
  const started = join(world.folder, "started");
  const env = {
    ...browserThat(world, `touch '${started}'`),
    BROWSER: "",
    SSH_CONNECTION: "10.0.0.1 1 10.0.0.2 22",
    DISPLAY: ":0",
  };
  const { code, stderr } = await world.run(["login", "notes", "--trust"], { env, person: pastingPerson() });
  expect(code).toBe(0);
  expect(stderr).toContain("Open this URL in a browser:\n");
  expect(() => readFileSync(started)).toThrow("ENOENT");
  expect((await world.run(call)).code).toBe(0);
});

test("(21) rejects pasted text that is empty, another page, or the response of another sign-in", async () => {
  const world = await createLoginWorld();
  const pasted = async (text: string) => world.run(["login", "notes", "--trust"], { person: async () => text });
  expect(await pasted("https://as.example/authorize?code=x")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("which starts with http://127.0.0.1:"),
  });
  const port = /127\.0\.0\.1%3A(\d+)%2Fcallback/.exec((await pasted("x")).stderr)?.[1];
  const foreign = await pasted(`http://127.0.0.1:${port}/callback?code=stolen-code&state=another`);
  expect(foreign).toMatchObject({ code: 1, stderr: expect.stringContaining("belongs to another sign-in") });
  expect(foreign.stderr).not.toContain("stolen-code");
  expect((await world.run(["auth", "--trust"])).stdout).toContain("not signed in");
});

test("(21) keeps waiting for the browser after Enter", async () => {
  const world = await createLoginWorld();
  const browser = createBrowser();
  const { code } = await world.run(["login", "notes", "--trust"], {
    async person(_, stderr) {
      void browser.signIn(/^ {2}(http\S+)$/m.exec(stderr)?.[1] ?? "");
      return "";
    },
  });
  expect(code).toBe(0);
});

test("[TS-OAUTH-3] starts the browser with the URL as its only argument, and without our variables", async () => {
  const world = await createLoginWorld();
  const seen = join(world.folder, "seen");
  const env = browserThat(world, `{ echo "$#"; echo "$1"; env; } > '${seen}.part'; mv '${seen}.part' '${seen}'`);
  const { code, stderr } = await world.run(["login", "notes", "--trust"], { env, person: browsingPerson() });
  expect(code).toBe(0);
  expect(stderr).toContain("A browser window opened. If not, open this URL:\n");
  await expect.poll(() => readFileSync(seen, "utf8")).toBeTruthy();
  const [count, url, ...variables] = readFileSync(seen, "utf8").split("\n");
  expect([count, url]).toEqual(["1", /^ {2}(http\S+)$/m.exec(stderr)?.[1]]);
  expect(variables.filter((line) => /^WIRESCOPE_/.test(line))).toEqual([]);
});

test("prints the URL if the browser cannot be started", async () => {
  const world = await createLoginWorld();
  const env = { BROWSER: join(world.folder, "nothing-here") };
  const { code, stderr } = await world.run(["login", "notes", "--trust"], { env, person: browsingPerson() });
  expect(code).toBe(0);
  expect(stderr).toContain("Open this URL in a browser:\n");
});

test("(21) signs in on another device with a code, and uses the same registration in a browser afterwards", async () => {
  const world = await createLoginWorld();
  let entered: Promise<unknown> | undefined;
  let printed = "";
  const running = world.run(["login", "notes", "--device", "--trust"], {
    onStderr(text) {
      printed += text;
      const [, url, code] = /^Open (\S+) on any device and enter the code (\S+)$/m.exec(printed) ?? [];
      if (url !== undefined && code !== undefined) entered ??= enterDeviceCode(url, code);
    },
  });
  const { code, stdout } = await running;
  await entered;
  expect(code).toBe(0);
  expect(stdout).toContain("Signed in to notes");
  expect(printed).toContain("  notes:read\n  offline_access\n");
  expect((await world.run(call)).code).toBe(0);
  await world.run(["login", "notes", "--trust"], { person: browsingPerson() });
  expect(world.authorization.count("/reg")).toBe(1);
});

test("reports a denied sign-in, after which nobody is signed in", async () => {
  const world = await createLoginWorld();
  const { code, stderr } = await world.run(["login", "notes", "--trust"], {
    async person(_, printed) {
      const url = new URL(/^ {2}(http\S+)$/m.exec(printed)?.[1] ?? "");
      const back = new URL(url.searchParams.get("redirect_uri") ?? "");
      const parameters = { error: "access_denied", state: url.searchParams.get("state") ?? "", iss: url.origin };
      for (const [name, value] of Object.entries(parameters)) back.searchParams.set(name, value);
      return back.href;
    },
  });
  expect(code).toBe(1);
  expect(stderr).toContain('the sign-in was refused: "access_denied". Sign in again and allow it');
});

/** Variables with a browser that runs this in a shell. */
function browserThat(world: LoginWorld, script: string): Record<string, string> {
  const folder = join(world.folder, "bin");
  mkdirSync(folder, { recursive: true });
  for (const name of ["browser", "xdg-open"]) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  return { BROWSER: join(folder, "browser"), PATH: `${folder}:${process.env.PATH}` };
}
