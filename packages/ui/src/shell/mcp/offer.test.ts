import { describe, expect, test } from "vitest";
import { groupByServer, offersOf, searchOffers } from "./offer.js";
import { paramHeaders } from "./param-headers.js";

const key = "io.wirescope/origin";
const tools = offersOf(
  "tool",
  {
    tools: [
      { name: "notes__add", description: "Adds a note", _meta: { [key]: { server: "notes", name: "add" } } },
      { name: "clock__now", title: "Time", _meta: { [key]: { server: "clock", name: "now" } } },
      { name: "notes__list", _meta: { [key]: { server: "notes", name: "list" } } },
      { name: 7 },
      null,
    ],
  },
  key,
);

describe("what servers offer", () => {
  test("omits items without a name, and returns the server and the server's own name of the others", () => {
    expect(tools.map(({ server, name }) => [server, name])).toEqual([
      ["notes", "add"],
      ["clock", "now"],
      ["notes", "list"],
    ]);
    expect(offersOf("resource", { resources: [{ uri: "a://b", name: "b" }] }, key)).toMatchObject([
      { key: "a://b", name: "b", server: "wirescope" },
    ]);
    expect(offersOf("tool", { tools: "none" }, key)).toEqual([]);
  });

  test("a search finds items that contain every word, in any field", () => {
    expect(searchOffers(tools, "NOTE adds").map(({ key: name }) => name)).toEqual(["notes__add"]);
    expect(searchOffers(tools, "time")).toHaveLength(1);
    expect(searchOffers(tools, " ")).toBe(tools);
  });

  test("groups are in the order in which their servers appear", () => {
    expect(groupByServer(tools).map(([server, list]) => [server, list.length])).toEqual([
      ["notes", 2],
      ["clock", 1],
    ]);
  });
});

describe("arguments that are also headers", () => {
  const schema = {
    properties: {
      region: { type: "string", "x-mcp-header": "Region" },
      nested: { properties: { id: { type: "integer", "x-mcp-header": "Id" } } },
      other: { type: "string" },
    },
  };

  test("sends marked arguments as headers, encoded if a header cannot contain them unchanged", () => {
    expect(paramHeaders(schema, { region: "größer", nested: { id: 7 }, other: "x" })).toEqual({
      "mcp-param-region": "=?base64?Z3LDtsOfZXI=?=",
      "mcp-param-id": "7",
    });
    expect(paramHeaders(schema, { region: "eu" })).toEqual({ "mcp-param-region": "eu" });
    expect(paramHeaders(undefined, { region: "eu" })).toEqual({});
  });
});
