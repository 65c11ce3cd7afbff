import { expect, test } from "vitest";
import { html, pageOf } from "./html.js";

test("escapes interpolated values, but not nested Html", () => {
  const hostile = `<script>alert("1")</script>&'\u001b[31m`;
  const item = html`<li title="${hostile}">${hostile}</li>`;
  for (const raw of ["<script", '"1"', "\u001b"]) expect(item.markup).not.toContain(raw);
  expect(html`<ul>${[item, item]}</ul>`.markup).toBe(`<ul>${item.markup}${item.markup}</ul>`);
  expect(pageOf(hostile, item)).not.toContain("<script");
});
