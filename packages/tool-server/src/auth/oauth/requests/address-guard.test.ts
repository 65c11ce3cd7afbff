import { expect, test } from "vitest";
import { addressRangeOf } from "./address-guard.js";

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
])("classifies the address %s as %s", (address, range) => {
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
])("classifies %s, an IPv4 address written as IPv6, as the IPv4 address", (address, range) => {
  expect(addressRangeOf(address)).toBe(range);
});

test.each([
  ["64:ff9b:1::a9fe:a9fe", "metadata"],
  ["64:ff9b:1::10.0.0.1", "private"],
  ["64:ff9b:1::93.184.216.34", "private"],
  ["64:ff9b:1:a9fe:a9:fe00::", "reserved"],
  ["::ffff:0:169.254.169.254", "metadata"],
  ["::ffff:0:127.0.0.1", "loopback"],
  ["::ffff:0:93.184.216.34", "reserved"],
  ["2001:0:4136:e378:8000:63bf:3fff:fdd2", "reserved"],
  // The client is 127.0.0.1, with each bit inverted.
  ["2001:0:4136:e378:8000:63bf:80ff:fffe", "loopback"],
  ["2001:0:4136:e378:8000:63bf:5601:5601", "metadata"],
  ["64:ff9b::10.0.0.1", "private"],
  ["64:ff9b::93.184.216.34", "public"],
  ["2002:a00:1::1", "private"],
  ["2002:a9fe:a9fe::", "metadata"],
  ["2002:5db8:d822::1", "public"],
  ["2001:2::1", "reserved"],
  ["2001:20::1", "reserved"],
  ["3fff::1", "reserved"],
  ["5f00::1", "reserved"],
  ["2001:4860:4860::8888", "public"],
  ["2001:200::1", "public"],
])("classifies %s, an address of a special-purpose IPv6 range, as %s", (address, range) => {
  expect(addressRangeOf(address)).toBe(range);
});

test("does not treat a host name as an address", () => {
  for (const name of ["localhost", "example.com", "", "1.2.3", "256.1.1.1"])
    expect(addressRangeOf(name)).toBeUndefined();
});
