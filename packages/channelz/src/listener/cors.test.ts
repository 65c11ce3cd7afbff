import { cors } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { connectCors } from "./cors.js";

test("allows pages to send and read every header that the Connect protocols need", () => {
  for (const part of ["allowedMethods", "allowedHeaders", "exposedHeaders"] as const) {
    expect(connectCors[part].map((name) => name.toLowerCase())).toEqual(cors[part].map((name) => name.toLowerCase()));
  }
});
