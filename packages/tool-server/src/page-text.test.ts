import { expect, test } from "vitest";
import { isPage, textOfPage, titleOfPage } from "./page-text.js";

test("the text of a page has no markup, styles and scripts", () => {
  const page =
    '<html><head><title lang="en">Oops</title><style>p{}</style></head><p class="a">No <b>access</b><script>1<2</script>';
  expect(textOfPage(page).replace(/\s+/g, " ").trim()).toBe("Oops No access");
  expect(titleOfPage(page)).toBe("Oops");
  expect(titleOfPage("plain")).toBeUndefined();
});

// With quadratic time, each of these takes longer than the time limit of a test.
test.each(["<", "<a", "<title", "<script", "</"])("a page that repeats %j is read in linear time", (part) => {
  const page = part.repeat(Math.floor(262_144 / part.length));
  expect(textOfPage(page).length).toBeLessThanOrEqual(page.length);
  expect(titleOfPage(page)).toBeUndefined();
});

test.each(["<!DOCTYPE html>", " \n<html lang=en>", '<?xml version="1.0"?>\n<html>', "<body>"])(
  "a body that starts with %j is a page",
  (start) => {
    expect(isPage(`${start}text`)).toBe(true);
  },
);

test.each(["", "plain", '{"page": "<html>"}', "<error>no</error>"])("the body %j is no page", (body) => {
  expect(isPage(body)).toBe(false);
});
