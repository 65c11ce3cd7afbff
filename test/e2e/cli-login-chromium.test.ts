import { startQuirks } from "@wirescope/quirks";
import { describe, expect, onTestFinished, test } from "vitest";
import { isChromiumInstalled, openPage } from "./chromium.test.helper.js";
import type { Run, TerminalUser } from "./command.test.helper.js";
import { createLoginWorld, type LoginWorld, urlPrintedIn } from "./login-world.test.helper.js";

describe.skipIf(!isChromiumInstalled)("a sign-in in Chromium", () => {
  /** Runs a sign-in by a user who does this with the url, until both are done. */
  async function signIn(world: LoginWorld, act: (url: string) => Promise<unknown>): Promise<Run> {
    let acting: Promise<unknown> | undefined;
    const person: TerminalUser = (_, stderr, signal) => {
      acting = act(urlPrintedIn(stderr));
      return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    };
    const run = await world.run(["login", "notes", "--trust"], { person });
    await acting;
    return run;
  }

  test("[TS-OAUTH-4] signs a person in with the forms of the server, and then shows our page, under its policy", async () => {
    const world = await createLoginWorld({ hasForms: true });
    const { page, problems } = await openPage();
    let seen: unknown;
    const { code, stdout } = await signIn(world, async (url) => {
      await page.goto(url);
      await page.getByLabel("Name").fill("ada");
      await page.getByRole("button", { name: "Sign in" }).click();
      expect(await page.getByText("It asks for").textContent()).toBe("It asks for: notes:read");
      await page.getByRole("button", { name: "Allow" }).click();
      await page.getByRole("heading", { name: "Signed in to notes" }).waitFor();
      seen = {
        title: await page.title(),
        text: await page.getByRole("paragraph").textContent(),
        // The style is the only thing that its policy allows.
        width: await page.evaluate("getComputedStyle(document.body).maxWidth"),
        scripts: await page.locator("script").count(),
      };
    });
    expect(code).toBe(0);
    expect(stdout).toContain("Signed in to notes");
    expect(seen).toEqual({
      title: "Signed in to notes",
      text: "You can close this tab.",
      width: "512px",
      scripts: 0,
    });
    expect(problems).toEqual([]);
  });

  test("neither shows nor runs a script in the response (CVE-2025-58747, CVE-2025-62800, CVE-2026-1721)", async () => {
    const quirks = await startQuirks({ quirks: ["redirect-script"] });
    onTestFinished(() => quirks.close());
    const world = await createLoginWorld();
    world.configure({ notes: { type: "http", url: quirks.tool.url } });
    const { page, problems } = await openPage();
    const pages: string[] = [];
    const { code, stderr } = await signIn(world, async (url) => {
      const back = new URL(url).searchParams.get("redirect_uri");
      const script = encodeURIComponent("<script>alert(1)</script><img src=x onerror=alert(2)>");
      await page.goto(`${back}?state=${script}&error=${script}&error_description=${script}`);
      pages.push(await page.content());
      await page.goto(url);
      pages.push(await page.content());
    });
    expect(code).toBe(1);
    expect(pages.map((html) => /<h1>(.*)<\/h1>/.exec(html)?.[1])).toEqual(["Not your sign-in", "Sign-in failed"]);
    for (const html of pages) expect(html).not.toMatch(/<script|<img/);
    // The first page is a 400, which Chromium logs.
    expect(problems.filter((problem) => !problem.includes("400 (Bad Request)"))).toEqual([]);
    expect(stderr).toContain('the sign-in was refused: "access_denied');
  });
});
