package facts

import (
	"strconv"
	"strings"
)

// dmiValue returns a value of the firmware's tables. Some are for root alone.
func (c *collector) dmiValue(name string) string {
	return c.line("/sys/class/dmi/id/" + name)
}

func (c *collector) dmi() (any, error) {
	v := c.dmiValue
	return object{
		"bios":         object{"vendor": v("bios_vendor"), "version": v("bios_version"), "release_date": v("bios_date")},
		"board":        object{"asset_tag": v("board_asset_tag"), "manufacturer": v("board_vendor"), "product": v("board_name"), "serial_number": v("board_serial")},
		"chassis":      object{"asset_tag": v("chassis_asset_tag"), "type": chassis(v("chassis_type"))},
		"manufacturer": v("sys_vendor"),
		"product":      object{"name": v("product_name"), "serial_number": v("product_serial"), "uuid": v("product_uuid"), "version": v("product_version")},
	}, nil
}

// chassis returns the name of a type of enclosure (SMBIOS specification, 7.4.1).
func chassis(number string) string {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(chassisTypes) {
		return ""
	}
	return chassisTypes[n-1]
}

var chassisTypes = strings.Split("Other,,Desktop,Low Profile Desktop,Pizza Box,Mini Tower,Tower,Portable,Laptop,Notebook,"+
	"Hand Held,Docking Station,All in One,Sub Notebook,Space-Saving,Lunch Box,Main System Chassis,Expansion Chassis,SubChassis,"+
	"Bus Expansion Chassis,Peripheral Chassis,Storage Chassis,Rack Mount Chassis,Sealed-Case PC,Multi-system,CompactPCI,"+
	"AdvancedTCA,Blade,Blade Enclosure,Tablet,Convertible,Detachable,IoT Gateway,Embedded PC,Mini PC,Stick PC", ",")
