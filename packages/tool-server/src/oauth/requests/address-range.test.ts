import { expect, test } from "vitest";
import { addressRangeOf } from "./address-range.js";

test.each([
  ["93.184.216.34", "public"],
  ["2606:2800:220:1::1", "public"],
  ["127.0.0.1", "loopback"],
  ["127.9.9.9", "loopback"],
  ["::1", "loopback"],
  ["[::1]", "loopback"],
  ["10.1.2.3", "private"],
  ["172.16.0.1", "private"],
  ["172.32.0.1", "public"],
  ["192.168.1.1", "private"],
  ["100.64.0.1", "private"],
  ["fd12:3456::1", "private"],
  ["169.254.1.1", "link-local"],
  ["fe80::1%eth0", "link-local"],
  ["169.254.169.254", "metadata"],
  ["fd00:ec2::254", "metadata"],
  ["0.0.0.0", "reserved"],
  ["::", "reserved"],
  ["224.0.0.1", "reserved"],
  ["255.255.255.255", "reserved"],
])("%s is %s", (address, range) => {
  expect(addressRangeOf(address)).toBe(range);
});

test.each([
  ["::ffff:127.0.0.1", "loopback"],
  ["::ffff:a9fe:a9fe", "metadata"],
  ["0:0:0:0:0:ffff:10.0.0.1", "private"],
  ["64:ff9b::a9fe:a9fe", "metadata"],
  ["2002:7f00:1::", "loopback"],
  ["::127.0.0.1", "loopback"],
  ["::ffff:93.184.216.34", "public"],
])("an IPv4 address that is written as one of IPv6, %s, counts as itself", (address, range) => {
  expect(addressRangeOf(address)).toBe(range);
});

test("a name is no address", () => {
  for (const name of ["localhost", "example.com", "", "1.2.3", "256.1.1.1"])
    expect(addressRangeOf(name)).toBeUndefined();
});
