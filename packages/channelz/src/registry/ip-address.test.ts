import { expect, test } from "vitest";
import { parseIpAddress } from "./ip-address.js";

test.each([
  ["127.0.0.1", [127, 0, 0, 1]],
  ["::ffff:10.1.2.3", [10, 1, 2, 3]],
  ["::FFFF:0a01:0203", [10, 1, 2, 3]],
  ["::1", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]],
  ["::", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]],
  ["2001:db8::8:800:200c:417a", [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 8, 8, 0, 0x20, 0x0c, 0x41, 0x7a]],
  ["fe80::1%eth0", [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]],
  ["64:ff9b::192.0.2.33", [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, 192, 0, 2, 33]],
  // Only what begins with ten bytes of 0 and two of 255 is an address of IPv4.
  ["::ff00:102:304", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0, 1, 2, 3, 4]],
  ["::ff:102:304", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 1, 2, 3, 4]],
  ["1::ffff:102:304", [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 1, 2, 3, 4]],
  ["fe80::1:2%a:b.c", [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2]],
  ["1:2:3:4:5:6:7:8", [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8]],
])("[CZ-ADDR-2] converts %s to the bytes %j", (text, bytes) => {
  expect([...parseIpAddress(text)!]).toEqual(bytes);
});

test.each(["", "localhost", "1.2.3", "1.2.3.256", ":::", "g::1", "/run/socket"])(
  "does not accept %j as an IP address",
  (text) => {
    expect(parseIpAddress(text)).toBeUndefined();
  },
);
