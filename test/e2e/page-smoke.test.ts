import { describe, expect, test } from "vitest";
import { isChromiumInstalled } from "./chromium.test.helper.js";
import { checkAccessibility, usePageGateway } from "./page.test.helper.js";

// The part of the tests of the page that npm test runs; npm run test:page runs all.
describe.skipIf(!isChromiumInstalled)("the page of the demonstration", () => {
  const gateway = usePageGateway({ args: () => ["--demo"] });

  test("shows every view, runs a tool, and shows the call, without an error in the browser", async () => {
    const page = await gateway.open();
    const row = page.getByRole("table", { name: "servers" }).getByRole("row").filter({ hasText: "clock" });
    await row.getByText("connected", { exact: true }).waitFor();
    await checkAccessibility(page);
    const menu = page.getByRole("navigation").first();
    await menu.getByRole("link", { name: "Connections" }).click();
    await page.locator("a.node").first().waitFor();
    await menu.getByRole("link", { name: "Explain" }).click();
    await page.getByRole("link", { name: "ledger" }).click();
    await page.getByRole("heading", { name: "The token has expired." }).waitFor();
    await menu.getByRole("link", { name: "Tools" }).click();
    await page.getByRole("link", { name: /^forecast/ }).click();
    await page.getByRole("textbox", { name: "city" }).fill("Lisbon");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("region", { name: "Result" }).getByText("Lisbon").first().waitFor();
    await menu.getByRole("link", { name: "Calls" }).click();
    const call = page.getByRole("table", { name: "calls" }).locator("tbody tr").filter({ hasText: "wirescope-page" });
    await call.first().click();
    await page.getByRole("list", { name: "Phases of the call" }).waitFor();
    await menu.getByRole("link", { name: "History" }).click();
    await page.getByRole("heading", { name: "History" }).first().waitFor();
    expect(new URL(page.url()).pathname).toBe("/history");
  });
});
