import { cors } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { connectCors } from "./cors.js";

test("pages may send and read all that the protocols of Connect need", () => {
  for (const part of ["allowedMethods", "allowedHeaders", "exposedHeaders"] as const) {
    expect(connectCors[part].map((name) => name.toLowerCase())).toEqual(cors[part].map((name) => name.toLowerCase()));
  }
});
