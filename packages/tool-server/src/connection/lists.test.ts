import { expect, test, vi } from "vitest";
import { createMemoryConnection } from "./memory-server.test.helper.js";

test("returns empty lists if a server does not support them, and prints nothing to standard output", async () => {
  const said = vi.spyOn(console, "debug").mockImplementation(() => {});
  const { connection } = createMemoryConnection();
  expect(await connection.listResources()).toEqual({ resources: [] });
  expect(await connection.listResourceTemplates()).toEqual({ resourceTemplates: [] });
  expect(await connection.listPrompts()).toEqual({ prompts: [] });
  expect((await connection.listTools()).tools.length).toBeGreaterThan(0);
  expect(said).not.toHaveBeenCalled();
  said.mockRestore();
});
