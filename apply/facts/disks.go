package facts

import (
	"fmt"
	"strconv"
	"strings"

	"bolt/internal/lazyregexp"
)

const blockDir = "/sys/block"

// sectors returns the size in a file of sysfs. The unit of the file is 512 bytes on every device.
func (c *collector) sectors(file string) (bytes uint64, known bool) {
	text := c.line(file)
	n, err := strconv.ParseUint(text, 10, 54)
	return n * 512, err == nil
}

func (c *collector) disks() (any, error) {
	out := object{}
	for _, name := range c.list(blockDir) {
		dir := blockDir + "/" + name
		if !c.exists(dir + "/device") {
			continue
		}
		disk := object{"model": c.line(dir + "/device/model"), "vendor": c.line(dir + "/device/vendor")}
		if n, is := c.sectors(dir + "/size"); is {
			disk["size"], disk["size_bytes"] = size(n), n
		}
		switch c.line(dir + "/queue/rotational") {
		case "":
		case "0":
			disk["type"] = "ssd"
		default:
			disk["type"] = "hdd"
		}
		// The order in which lsblk looks for them.
		udev := c.udev(dir)
		disk["serial"] = first(udev["SCSI_IDENT_SERIAL"], udev["ID_SCSI_SERIAL"], udev["ID_SERIAL_SHORT"], udev["ID_SERIAL"], c.line(dir+"/device/serial"))
		disk["wwn"] = first(udev["ID_WWN_WITH_EXTENSION"], udev["ID_WWN"])
		out[name] = disk
	}
	return out, nil
}

func first(candidates ...string) string {
	for _, s := range candidates {
		if s != "" {
			return s
		}
	}
	return ""
}

// udev returns the properties in udev's database of the block device in a directory of sysfs; nil
// if the database does not have the device.
func (c *collector) udev(dir string) map[string]string {
	number := c.line(dir + "/dev")
	text, is := c.read("/run/udev/data/b" + number)
	if number == "" || !is {
		return nil
	}
	return parseUdev(text)
}

// parseUdev reads a file of udev's database: "E:NAME=value" are the properties of the device.
func parseUdev(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		if pair, is := strings.CutPrefix(strings.TrimRight(line, "\n"), "E:"); is {
			name, value, _ := strings.Cut(pair, "=")
			out[name] = value
		}
	}
	return out
}

var hexEscape = lazyregexp.New(`\\x[0-9A-Fa-f]{2}`)

// unhex decodes the escapes of udev's names that end in _ENC.
func unhex(s string) string {
	return hexEscape().ReplaceAllStringFunc(s, func(e string) string {
		n, _ := strconv.ParseUint(e[2:], 16, 8)
		return string([]byte{byte(n)})
	})
}

// A partition is a block device that can hold a file system.
type partition struct {
	name, dir string // /dev/sda1, its directory in sysfs
	backing   string // the file of a loop device
}

// devices returns the partitions of disks, the volumes of the device mapper, and the loop devices in use.
func (c *collector) devices() []partition {
	var out []partition
	for _, name := range c.list(blockDir) {
		dir := blockDir + "/" + name
		switch {
		case c.isDir(dir + "/device"):
			for _, part := range c.list(dir) {
				if strings.Contains(part, name) && c.isDir(dir+"/"+part) {
					out = append(out, partition{name: "/dev/" + part, dir: dir + "/" + part})
				}
			}
		case c.isDir(dir + "/dm"):
			p := partition{name: "/dev/" + name, dir: dir}
			if volume := c.line(dir + "/dm/name"); volume != "" {
				p.name = "/dev/mapper/" + volume
			}
			out = append(out, p)
		case c.isDir(dir + "/loop"):
			out = append(out, partition{name: "/dev/" + name, dir: dir, backing: c.line(dir + "/loop/backing_file")})
		}
	}
	return out
}

func (c *collector) partitions() (any, error) {
	out := object{}
	var blkid lazy[map[string]map[string]string]
	var failed error
	for _, p := range c.devices() {
		bytes, _ := c.sectors(p.dir + "/size")
		part := object{"size": size(bytes), "size_bytes": bytes, "backing_file": p.backing}
		if udev := c.udev(p.dir); udev != nil {
			part["filesystem"] = udev["ID_FS_TYPE"]
			part["uuid"] = unhex(first(udev["ID_FS_UUID_ENC"], udev["ID_FS_UUID"]))
			part["label"] = unhex(first(udev["ID_FS_LABEL_ENC"], udev["ID_FS_LABEL"]))
			part["partuuid"] = udev["ID_PART_ENTRY_UUID"]
			part["partlabel"] = unhex(udev["ID_PART_ENTRY_NAME"])
			part["parttype"] = udev["ID_PART_ENTRY_TYPE"]
		} else {
			tags := blkid.get(func() map[string]map[string]string {
				tags, err := c.blkid()
				failed = err
				return tags
			})[p.name]
			for key, tag := range map[string]string{"filesystem": "TYPE", "uuid": "UUID", "label": "LABEL", "partuuid": "PARTUUID", "partlabel": "PARTLABEL"} {
				part[key] = tags[tag]
			}
		}
		for _, m := range c.mounts() {
			if m.device == p.name {
				part["mount"] = m.path
				break
			}
		}
		out[p.name] = part
	}
	return out, failed
}

// blkid returns the tags of block devices that the program blkid prints. It is for machines without
// udev.
func (c *collector) blkid() (map[string]map[string]string, error) {
	program := c.program("blkid")
	if program == "" {
		return nil, nil
	}
	out, err := c.output(answerLimit, program)
	if err != nil {
		return nil, fmt.Errorf("run %s: %v", program, err)
	}
	return parseBlkid(string(out.Stdout)), nil
}

var blkidTag = lazyregexp.New(` ([^= ]+)="([^"]*)"`)

// parseBlkid reads lines such as `/dev/sda1: UUID="…" TYPE="ext4"`.
func parseBlkid(text string) map[string]map[string]string {
	out := map[string]map[string]string{}
	for line := range strings.Lines(text) {
		device, rest, is := strings.Cut(strings.TrimRight(line, "\n"), ":")
		if !is {
			continue
		}
		tags := map[string]string{}
		for _, m := range blkidTag().FindAllStringSubmatch(rest, -1) {
			tags[m[1]] = m[2]
		}
		out[device] = tags
	}
	return out
}
